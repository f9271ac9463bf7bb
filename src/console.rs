//! `highwater.com`: the program for shells. A Windows program is either for the
//! console, and then opens one when it is started from Explorer, or not, and then no
//! shell waits for it or shows what it prints. So `highwater.exe` is for Explorer,
//! and this one, which shells find first (`.COM` comes first in `PATHEXT`), starts
//! it, hands on its output, waits for it and ends with its exit code.
//!
//! A console takes no output from a program that is not attached to it, so that goes
//! through pipes; files and pipes are handed to the program as they are.

use std::io::{self, IsTerminal, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

fn main() -> ExitCode {
    match run() {
        Ok(code) => std::process::exit(code),
        Err(reason) => {
            let _ = writeln!(
                io::stderr(),
                "highwater: highwater.exe, which belongs beside this program, could not be started: {reason}"
            );
            ExitCode::from(1)
        }
    }
}

fn run() -> io::Result<i32> {
    let program = std::env::current_exe()?.with_file_name("highwater").with_extension(std::env::consts::EXE_EXTENSION);
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .stdout(if io::stdout().is_terminal() { Stdio::piped() } else { Stdio::inherit() })
        .stderr(if io::stderr().is_terminal() { Stdio::piped() } else { Stdio::inherit() })
        .spawn()?;
    // A recording ends well on Ctrl+C, which the other program gets too; it is waited for.
    #[cfg(windows)]
    if std::env::args_os().nth(1).is_some_and(|command| command == "record") {
        highwater::platform::Interrupts::watch();
    }
    // Who stops this program means the other one too. Without that, it ends on its own.
    let _tie = highwater::platform::tie(&child);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        if let Some(err) = err {
            scope.spawn(|| hand_on(err, io::stderr()));
        }
        if let Some(out) = out {
            hand_on(out, io::stdout());
        }
    });
    Ok(child.wait()?.code().unwrap_or(1))
}

/// Copies what there is at once: a message must not wait for the next one.
fn hand_on(mut from: impl Read, mut to: impl Write) {
    let mut buffer = [0; 8 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..n]).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
}
