//! A symbol server on loopback that answers as it is told to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does with a request.
#[derive(Clone)]
pub enum Reply {
    File(Vec<u8>),
    /// Sends so many bytes of the file a connection, then cuts it.
    Cut(Vec<u8>, usize),
    /// The same, and says nothing by which a download could be resumed.
    CutWithoutTag(Vec<u8>, usize),
    /// Sends so many bytes of the file from its beginning, whatever is asked for, then cuts it.
    CutWithoutRanges(Vec<u8>, usize),
    /// In small pieces with pauses.
    Slow(Vec<u8>),
    /// Sends the head, and then a byte now and then, without end.
    Drip(Duration),
    /// Sends the head and then nothing.
    Silent,
    /// Says after some time that there is no such file.
    Late(Duration),
    /// Sends nothing at all.
    Mute,
    Redirect(String),
    /// Has no file, for those who send this value of the header Authorization; others are asked for a login.
    Login(&'static str),
    Page(&'static str, String),
}

/// A symbol server on loopback, until it is dropped.
pub struct Server {
    pub url: String,
    pub replies: Arc<Mutex<HashMap<String, Reply>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let replies: Arc<Mutex<HashMap<String, Reply>>> = Arc::default();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (theirs, log) = (Arc::clone(&replies), Arc::clone(&asked));
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (replies, log) = (Arc::clone(&theirs), Arc::clone(&log));
                std::thread::spawn(move || drop(answer(stream, &replies, &log)));
            }
        });
        Self { url, replies, asked }
    }

    /// `*` stands for whatever has no reply of its own.
    pub fn put(&self, path: &str, reply: Reply) {
        self.replies.lock().unwrap().insert(path.to_owned(), reply);
    }

    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, replies: &Mutex<HashMap<String, Reply>>, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let (mut from, mut login) = (0, String::new());
    for line in lines {
        let line = line?;
        if let Some((_, value)) = line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            value.clone_into(&mut login);
        }
        let line = line.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    log.lock().unwrap().push(if from == 0 { path.clone() } else { format!("{path} from {from}") });
    let reply = {
        let replies = replies.lock().unwrap();
        replies.get(&path).or_else(|| replies.get("*")).cloned()
    };
    let page = |status: &str, kind: &str, body: &[u8]| {
        let mut all = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nETag: \"v1\"\r\nConnection: close\r\n\r\n",
            body.len()
        )
        .into_bytes();
        all.extend_from_slice(body);
        all
    };
    let binary = "application/octet-stream";
    let whole = |bytes: &[u8], from: usize| match from {
        0 => page("200 OK", binary, bytes),
        _ => {
            let rest = page("206 Partial Content", binary, &bytes[from..]);
            let head = format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
            [head.as_bytes(), &rest["HTTP/1.1 206 Partial Content".len()..]].concat()
        }
    };
    match reply {
        Some(Reply::Login(wanted)) if login != wanted => {
            stream.write_all(&page("401 Unauthorized", "text/html", b"who are you?"))
        }
        None | Some(Reply::Login(_)) => stream.write_all(&page("404 Not Found", "text/html", b"<html>nothing here</html>")),
        Some(Reply::File(bytes)) => stream.write_all(&whole(&bytes, from)),
        Some(Reply::Cut(bytes, length)) => {
            let all = whole(&bytes, from);
            let head = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
            stream.write_all(&all[..all.len().min(head + length)])
        }
        Some(Reply::CutWithoutTag(bytes, length)) => {
            let all = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
            stream.write_all(all.as_bytes())?;
            stream.write_all(&bytes[..length])
        }
        Some(Reply::CutWithoutRanges(bytes, length)) => {
            let all = whole(&bytes, 0);
            stream.write_all(&all[..all.len() - bytes.len() + length])
        }
        Some(Reply::Slow(bytes)) => {
            for piece in whole(&bytes, from).chunks(bytes.len() / 8 + 1) {
                stream.write_all(piece)?;
                stream.flush()?;
                std::thread::sleep(Duration::from_millis(30));
            }
            Ok(())
        }
        Some(Reply::Drip(pause)) => {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nETag: \"v1\"\r\n\r\nMicrosoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0",
            )?;
            loop {
                std::thread::sleep(pause);
                stream.write_all(b"x")?;
                stream.flush()?;
            }
        }
        Some(Reply::Silent) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")?;
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        Some(Reply::Late(pause)) => {
            std::thread::sleep(pause);
            stream.write_all(&page("404 Not Found", "text/html", b"<html>nothing here</html>"))
        }
        Some(Reply::Mute) => {
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        Some(Reply::Redirect(to)) => stream.write_all(
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes(),
        ),
        Some(Reply::Page(status, text)) => stream.write_all(&page(status, "text/html", text.as_bytes())),
    }
}
