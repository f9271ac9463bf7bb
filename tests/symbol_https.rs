//! Symbol servers over HTTPS: one with a certificate that nobody vouches for is told
//! nothing, and one that the system trusts is asked; it may point to shares, but not lead to
//! where anybody could answer. The server is a real one on
//! loopback; its certificate is made for each run.
#![cfg(feature = "symsrv")]
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};

use common::trace::{session, story, trace};
use highwater::etl::Guid;
use highwater::events::{Event, ImageId, Record};
use highwater::units::{Pid, Tid};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

/// A value in DER: what it is, its length, its parts.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = match body.len() {
        short @ 0..=127 => vec![short as u8],
        medium @ 128..=255 => vec![0x81, medium as u8],
        long => vec![0x82, (long >> 8) as u8, long as u8],
    };
    [&[tag][..], &length, &body].concat()
}

/// A certificate for 127.0.0.1 that its own key has signed, and that key.
fn certificate() -> (Vec<u8>, Vec<u8>) {
    const SEQUENCE: u8 = 0x30;
    const ECDSA_WITH_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2];
    const EC_PUBLIC_KEY: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1];
    const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7];
    let oid = |bytes: &[u8]| der(6, &[bytes]);
    let bits = |bytes: &[u8]| der(3, &[&[0], bytes]);
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random).unwrap();
    let algorithm = der(SEQUENCE, &[&oid(ECDSA_WITH_SHA256)]);
    let common_name = der(SEQUENCE, &[&oid(&[0x55, 4, 3]), &der(12, &[b"loopback"])]);
    let name = der(SEQUENCE, &[&der(0x31, &[&common_name])]);
    let validity = der(SEQUENCE, &[&der(23, &[b"200101000000Z"]), &der(24, &[b"20991231235959Z"])]);
    let public = der(SEQUENCE, &[&der(SEQUENCE, &[&oid(EC_PUBLIC_KEY), &oid(P256)]), &bits(pair.public_key().as_ref())]);
    let addresses = der(4, &[&der(SEQUENCE, &[&der(0x87, &[&[127, 0, 0, 1]])])]);
    let extensions = der(0xA3, &[&der(SEQUENCE, &[&der(SEQUENCE, &[&oid(&[0x55, 0x1D, 0x11]), &addresses])])]);
    let version = der(0xA0, &[&der(2, &[&[2]])]);
    let body = der(SEQUENCE, &[&version, &der(2, &[&[1]]), &algorithm, &name, &validity, &name, &public, &extensions]);
    let signature = pair.sign(&random, &body).unwrap();
    (der(SEQUENCE, &[&body, &algorithm, &bits(signature.as_ref())]), key.as_ref().to_vec())
}

/// A server with that certificate. It gives one answer; it notes what it is asked for.
struct Server {
    url: String,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only there a test can have it trusted"))]
    certificate: Vec<u8>,
    asked: Arc<Mutex<Vec<String>>>,
}

const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

impl Server {
    fn start(answer: String) -> Self {
        let (certificate, key) = certificate();
        let chain = vec![CertificateDer::from(certificate.clone())];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = BufReader::new(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream));
                let mut request = String::new();
                if stream.read_line(&mut request).is_err() {
                    continue; // who does not trust it says nothing
                }
                log.lock().unwrap().extend(request.split(' ').nth(1).map(str::to_owned));
                let mut line = request;
                while line.trim() != "" {
                    line.clear();
                    let _ = stream.read_line(&mut line);
                }
                let _ = stream.get_mut().write_all(answer.as_bytes());
            }
        });
        Self { url, certificate, asked }
    }
}

/// Asks the server for the names of a trace whose module has a PDB; what is said on
/// stderr. `trusted`: a file with certificates for the system to trust.
fn ask(server: &Server, trusted: Option<&str>) -> String {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("trace.etl");
    let id = ImageId { base: 0x7FF7_0000_0000, guid: Guid::from_bytes([9; 16]), age: 3, pdb: r"D:\build\Game.pdb".to_owned() };
    let mut records = story();
    let record = Record { time: 1_011, pid: Pid(4660), tid: Tid(2), event: Event::ImageId(Box::new(id)) };
    records.push((record, Vec::new()));
    records.sort_by_key(|(record, _)| record.time);
    std::fs::write(&file, trace(session(false), &records)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.args(["report", "--json", "--by", "stack", "--symbols", &server.url]).arg(&file);
    command.env("HIGHWATER_CACHE_DIR", folder.path().join("cache")).env("_NT_SYMBOL_PATH", "").env("_NT_ALT_SYMBOL_PATH", "");
    for proxy in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    if let Some(file) = trusted {
        command.env("SSL_CERT_FILE", file);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_server_with_a_certificate_of_its_own_is_told_nothing() {
    let server = Server::start(NOT_FOUND.to_owned());
    let said = ask(&server, None);
    assert!(said.contains("no names for Game.exe") && said.contains(&server.url), "{said}");
    assert!(said.contains("its certificate is not trusted"), "{said}");
    assert_eq!(*server.asked.lock().unwrap(), Vec::<String>::new());
}

/// The same for one that the system trusts.
#[cfg(target_os = "linux")] // elsewhere the trusted certificates cannot be named by the environment
fn ask_trusted(server: &Server) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    for (at, three) in server.certificate.chunks(3).enumerate() {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        let letter = |i: usize| if i > three.len() { '=' } else { char::from(LETTERS[(bits >> (18 - 6 * i) & 63) as usize]) };
        pem.extend((0..4).map(letter));
        pem += if at % 16 == 15 { "\n" } else { "" };
    }
    pem += "\n-----END CERTIFICATE-----\n";
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("trusted.pem");
    std::fs::write(&file, pem).unwrap();
    ask(server, file.to_str())
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_the_system_trusts_is_asked() {
    let server = Server::start(NOT_FOUND.to_owned());
    let said = ask_trusted(&server);
    let first = format!("/Game.pdb/{}3/Game.pdb", "09".repeat(16));
    assert_eq!(server.asked.lock().unwrap().first(), Some(&first), "{said}");
    assert!(said.contains("Game.pdb is in none of the 2 places"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_encrypted_connection_does_not_lead_to_one_that_is_not() {
    let plain = common::server::Server::start();
    let head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\n";
    let server = Server::start(format!("{head}Location: {}/Game.pdb\r\n\r\n", plain.url));
    let said = ask_trusted(&server);
    assert_eq!((server.asked.lock().unwrap().len(), plain.asked()), (1, vec![]), "{said}");
    assert!(said.contains("would not be encrypted"), "{said}");
}

/// What it points to is only told by the name here: elsewhere than on Windows such a path is
/// a file of this machine.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_vouches_for_itself_may_point_to_a_share() {
    let text = "PATH://somebody/share/Game.pdb";
    let server = Server::start(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len()));
    let said = ask_trusted(&server);
    assert!(!said.contains("would reveal your account"), "{said}");
}
