package capture

import (
	"bufio"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

type captured struct {
	id     string
	ids    []int
	scores []float64
}

// capture is the client under test: ids and scores of a streamed answer.
func capture(t *testing.T, baseURL string) captured {
	t.Helper()
	body := `{"model": "tiny", "messages": [{"role": "user", "content": "Say hello."}],
		"stream": true, "logprobs": true, "return_token_ids": true}`
	answer, err := http.Post(baseURL+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got captured
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		data := strings.TrimPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(data, "{") {
			continue
		}
		var chunk struct {
			ID      string
			Choices []struct {
				TokenIDs []int `json:"token_ids"`
				Logprobs struct {
					Content []struct{ Logprob float64 }
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatal(err)
		}
		got.id = chunk.ID
		for _, choice := range chunk.Choices {
			got.ids = append(got.ids, choice.TokenIDs...)
			for _, entry := range choice.Logprobs.Content {
				got.scores = append(got.scores, entry.Logprob)
			}
		}
	}
	return got
}

func TestEveryTokenKeepsItsScore(t *testing.T) {
	server := start(t, "../hello.yaml")

	got := capture(t, server.URL+"/v1")

	var told struct {
		Truth []struct {
			Choices []struct {
				Tokens []struct {
					ID      int
					Logprob float64
				}
			}
		}
	}
	server.ask(t, "truth/"+got.id, &told)
	var want captured
	for _, token := range told.Truth[0].Choices[0].Tokens {
		want.ids = append(want.ids, token.ID)
		want.scores = append(want.scores, token.Logprob)
	}
	if !reflect.DeepEqual(want.ids, got.ids) || !reflect.DeepEqual(want.scores, got.scores) {
		t.Errorf("captured %v %v, the engine said %v %v", got.ids, got.scores, want.ids, want.scores)
	}
	var verdict struct{ Ok bool }
	server.ask(t, "verdict", &verdict)
	if !verdict.Ok {
		t.Error("a request found no reply, or a reply was not asked for")
	}
}
