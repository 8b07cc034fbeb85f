// A fake inference server for tests of Go clients: started, asked for the truth, stopped. Only the standard library.
package capture

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

type fakellm struct {
	URL   string `json:"url"`
	Admin string `json:"admin_url"`
}

// start runs `fakellm serve` until the test ends; BaseURL of an OpenAI client is URL + "/v1".
func start(t *testing.T, scenario string) fakellm {
	t.Helper()
	words := strings.Fields(os.Getenv("FAKELLM"))
	if len(words) == 0 {
		words = []string{"fakellm"}
	}
	words = append(words, "serve", "-q", "--scenario", scenario)
	command := exec.Command(words[0], words[1:]...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n') // the readiness line
	if err != nil {
		t.Fatalf("fakellm did not listen: %v", err)
	}
	var server fakellm
	if err := json.Unmarshal(line, &server); err != nil {
		t.Fatal(err)
	}
	return server
}

// ask reads one value of the admin API: journal, journal/1, truth/ID, verdict.
func (server fakellm) ask(t *testing.T, path string, value any) {
	t.Helper()
	answer, err := http.Get(server.Admin + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, answer.StatusCode, body, err)
	}
	if err := json.Unmarshal(body, value); err != nil {
		t.Fatal(err)
	}
}
