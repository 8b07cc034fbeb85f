//! Does my client capture the tokens that the server sampled, each with its own score?

use serde_json::{json, Value};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A fake inference server that ends with the test.
struct Fakellm {
    child: Child,
    url: String,
    admin: String,
}

impl Fakellm {
    /// Run `fakellm serve` and read its readiness line.
    fn start(scenario: &str) -> Self {
        let command = std::env::var("FAKELLM").unwrap_or_else(|_| "fakellm".into());
        let mut words = command.split_whitespace();
        let mut child = Command::new(words.next().expect("a command"))
            .args(words)
            .args(["serve", "-q", "--scenario", scenario])
            .stdout(Stdio::piped())
            .spawn()
            .expect("fakellm starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: Value = serde_json::from_str(&line).expect("the readiness line");
        let text = |name: &str| ready[name].as_str().unwrap().to_string();
        Fakellm {
            url: text("url"),
            admin: text("admin_url"),
            child,
        }
    }

    /// One value of the admin API: journal, journal/1, truth/ID, verdict.
    fn ask(&self, path: &str) -> Value {
        ureq::get(&format!("{}/{path}", self.admin))
            .call()
            .unwrap()
            .into_json()
            .unwrap()
    }
}

impl Drop for Fakellm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The client under test: response id, ids and scores of a streamed answer.
fn capture(base_url: &str) -> (String, Vec<u64>, Vec<f64>) {
    let body = json!({
        "model": "tiny", "messages": [{"role": "user", "content": "Say hello."}],
        "stream": true, "logprobs": true, "return_token_ids": true,
    });
    let answer = ureq::post(&format!("{base_url}/chat/completions"))
        .send_json(body)
        .unwrap();
    let (mut id, mut ids, mut scores) = (String::new(), Vec::new(), Vec::new());
    for line in BufReader::new(answer.into_reader()).lines() {
        let line = line.unwrap();
        let Some(data) = line
            .strip_prefix("data: ")
            .filter(|data| data.starts_with('{'))
        else {
            continue;
        };
        let chunk: Value = serde_json::from_str(data).unwrap();
        id = chunk["id"].as_str().unwrap().to_string();
        for choice in chunk["choices"].as_array().unwrap() {
            ids.extend(
                choice["token_ids"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_u64),
            );
            let entries = choice["logprobs"]["content"].as_array();
            scores.extend(
                entries
                    .into_iter()
                    .flatten()
                    .filter_map(|entry| entry["logprob"].as_f64()),
            );
        }
    }
    (id, ids, scores)
}

#[test]
fn every_token_keeps_its_score() {
    let server = Fakellm::start("../hello.yaml");

    let (id, ids, scores) = capture(&format!("{}/v1", server.url));

    let told = server.ask(&format!("truth/{id}"));
    let tokens = told["truth"][0]["choices"][0]["tokens"].as_array().unwrap();
    assert_eq!(
        tokens
            .iter()
            .map(|token| token["id"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        ids
    );
    assert_eq!(
        tokens
            .iter()
            .map(|token| token["logprob"].as_f64().unwrap())
            .collect::<Vec<_>>(),
        scores
    );
    assert_eq!(Value::Bool(true), server.ask("verdict")["ok"]);
}
