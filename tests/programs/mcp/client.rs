//! A client that is only as polite as a test wants it to be.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::Run;

/// How long an answer may take: debug builds on a busy machine, under Wine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server, its pipes, and what it answered.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    errors: JoinHandle<String>,
    answers: HashMap<String, Value>,
    next: u64,
}

/// How a server ended.
pub struct Ended {
    pub code: Option<i32>,
    pub err: String,
    /// Answers that nobody had waited for.
    pub answers: Vec<Value>,
}

/// The program with these words, in a folder, with an empty symbol path.
pub fn program(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.arg("mcp").args(words).current_dir(folder);
    for name in ["_NT_SYMBOL_PATH", "_NT_ALT_SYMBOL_PATH"] {
        command.env(name, "");
    }
    command
}

#[allow(clippy::needless_pass_by_value, reason = "what a call passes is written where it is called")]
impl Server {
    /// Starts a program and says nothing yet. Whatever it prints must be messages, a line each.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, out, mut err) = (child.stdin.take(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                let line = line.unwrap();
                let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                let _ = sender.send(message);
            }
        });
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            err.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { child, stdin, lines, errors, answers: HashMap::new(), next: 1 }
    }

    /// Starts the program with these words in a folder, and introduces the client.
    pub fn ready(words: &[&str], folder: &Path) -> Self {
        let mut server = Self::start(program(words, folder));
        server.introduce("2025-06-18");
        server
    }

    /// The handshake of a version; returns the server's answer.
    pub fn introduce(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let answer = self.ask("initialize", json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client}));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request; returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id.to_string()) {
                return answer;
            }
            let message = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("no answer to {id}: {error}"));
            self.answers.insert(message["id"].to_string(), message);
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool; returns the message.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool, which must answer; returns the answer. Text and structured content must say the same.
    pub fn answered(&mut self, tool: &str, arguments: Value) -> Value {
        let message = self.call(tool, arguments.clone());
        let result = &message["result"];
        assert_eq!(result["isError"], json!(false), "{tool} {arguments}: {message}");
        let [content] = &result["content"].as_array().unwrap()[..] else { panic!("{message}") };
        let text: Value = serde_json::from_str(content["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{tool} {arguments}");
        text
    }

    /// Calls a tool, which must refuse; returns the sentence.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let message = self.call(tool, arguments.clone());
        let result = &message["result"];
        assert_eq!(result["isError"], json!(true), "{tool} {arguments}: {message}");
        assert!(result.get("structuredContent").is_none(), "{message}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Calls a tool with arguments that it does not have; returns the error's message.
    pub fn invalid(&mut self, tool: &str, arguments: Value) -> String {
        let message = self.call(tool, arguments.clone());
        assert_eq!(message["error"]["code"], json!(-32602), "{tool} {arguments}: {message}");
        message["error"]["message"].as_str().unwrap().to_owned()
    }

    /// Ends stdin and waits for the program.
    pub fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let mut answers: Vec<Value> = self.answers.drain().map(|(_, answer)| answer).collect();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => answers.push(message),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(error) => panic!("the server does not end: {error}"),
            }
        }
        Ended { code: self.child.wait().unwrap().code(), err: self.errors.join().unwrap(), answers }
    }
}

/// The words of a line that is quoted for a POSIX shell.
pub fn words(line: &str) -> Vec<String> {
    let (mut all, mut word) = (Vec::new(), None::<String>);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' => all.extend(word.take()),
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    word.push(if c == '\\' { chars.next().unwrap() } else { c });
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    all.extend(word);
    all
}

/// Runs the program in a folder, with an empty symbol path.
pub fn run<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>, folder: &Path) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    let output =
        command.args(words).current_dir(folder).env("_NT_SYMBOL_PATH", "").env("_NT_ALT_SYMBOL_PATH", "").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs the command of an answer; what it prints must be the answer.
pub fn agrees(answer: &Value, folder: &Path) {
    let command = answer["command"].as_str().unwrap();
    let words = words(command);
    assert!(words[0] == "highwater" && words.iter().any(|word| word == "--json"), "{command}");
    let run = run(&words[1..], folder);
    assert_eq!(run.code, Some(0), "{command}: {}", run.err);
    let mut printed: Value = serde_json::from_str(&run.out).unwrap();
    let mut answer = answer.clone();
    assert!(answer.get("truncated").is_none(), "{command}: {}", answer["truncated"]);
    answer.as_object_mut().unwrap().remove("command");
    assert!(printed.get("doubts").is_some());
    assert_eq!(answer, printed.take(), "{command}");
}
