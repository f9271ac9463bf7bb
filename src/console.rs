//! `highwater.com`: the program for shells. A Windows program is either a console program, which opens a console when
//! it is started from Explorer, or not, and then no shell waits for it or shows its output. So `highwater.exe` is for
//! Explorer, and this one, which shells find first (`.COM` comes first in `PATHEXT`), starts it, forwards its output,
//! waits for it and exits with its exit code.
//!
//! A console shows no output of a program that is not attached to it, so that output goes through pipes; redirected
//! files and pipes are passed to the program as they are.

use std::io::{self, IsTerminal, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use highwater::platform::{COLUMNS_OF_CONSOLE, CONSOLE_SHOWS_ERRORS, show_control_sequences};
use terminal_size::{Width, terminal_size};

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
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    let shows_sequences = show_control_sequences();
    if io::stdout().is_terminal() {
        command.stdout(Stdio::piped());
        if let Some((Width(columns), _)) = terminal_size().filter(|_| shows_sequences) {
            command.env(COLUMNS_OF_CONSOLE, columns.to_string());
        }
    }
    if io::stderr().is_terminal() {
        command.stderr(Stdio::piped());
        if shows_sequences {
            command.env(CONSOLE_SHOWS_ERRORS, "1");
        }
    }
    let mut child = command.spawn()?;
    // Ctrl+C ends a recording properly. The other program receives it too, so this one ignores it and waits.
    #[cfg(windows)]
    if std::env::args_os().nth(1).is_some_and(|command| command == "record") {
        highwater::platform::Interrupts::watch();
    }
    // Killing this program should end the other one, too. If tying them fails, the other one ends on its own.
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

/// Copies output as soon as it comes: a message must not wait for the next one.
fn hand_on(mut from: impl Read, mut to: impl Write) {
    let mut buffer = [0; 8 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..n]).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
}
