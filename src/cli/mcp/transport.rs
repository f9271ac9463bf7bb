//! Stdin and stdout as a transport of `rmcp`, whose own does lines of JSON: one that is no JSON is passed over, as is one
//! that is longer than [`LONGEST_LINE`].
//!
//! Added to it: the end of stdin is seen when all calls before it are answered (`rmcp` would wait five seconds); the last
//! line needs no end; no more than [`MOST_WAITING`] calls wait at a time, the others stay in the pipe; and what is no
//! request before `initialize` is passed over (`rmcp` would end).

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncReadExt, Chain, Stdin, Stdout};
use tokio::sync::Notify;

/// Longest line that is read, in bytes.
const LONGEST_LINE: usize = 4 << 20;
/// Most requests that wait for their answers.
const MOST_WAITING: usize = 64;

pub(super) struct Stdio {
    inner: AsyncRwTransport<RoleServer, Chain<Stdin, &'static [u8]>, Stdout>,
    waiting: Arc<Unanswered>,
    is_initialized: bool,
    is_at_end: bool,
}

/// Requests without an answer.
#[derive(Default)]
struct Unanswered {
    ids: Mutex<HashSet<RequestId>>,
    fewer: Notify,
}

impl Unanswered {
    fn add(&self, id: &RequestId) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
    }

    fn remove(&self, id: &RequestId) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.fewer.notify_one();
    }

    /// Waits until there are at most so many.
    async fn at_most(&self, most: usize) {
        while self.ids.lock().unwrap_or_else(PoisonError::into_inner).len() > most {
            self.fewer.notified().await;
        }
    }
}

impl Stdio {
    pub(super) fn new() -> Self {
        let stdin = tokio::io::stdin().chain(&b"\n"[..]);
        let inner = AsyncRwTransport::new_server(stdin, tokio::io::stdout()).with_max_line_length(LONGEST_LINE);
        Self { inner, waiting: Arc::default(), is_initialized: false, is_at_end: false }
    }

    /// Notes what a message means for the transport; returns whether the server is to see it.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.is_initialized |= matches!(request.request, ClientRequest::InitializeRequest(_));
                self.waiting.add(&request.id);
                return true;
            }
            JsonRpcMessage::Notification(notification) if self.is_initialized => {
                // A cancelled request is not answered.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    cancelled.params.request_id.iter().for_each(|id| self.waiting.remove(id));
                }
            }
            _ => {}
        }
        self.is_initialized
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (sent, waiting) = (self.inner.send(message), Arc::clone(&self.waiting));
        async move {
            let sent = sent.await;
            answered.iter().for_each(|id| waiting.remove(id));
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while !self.is_at_end {
            self.waiting.at_most(MOST_WAITING - 1).await;
            match self.inner.receive().await {
                Some(message) if self.note(&message) => return Some(message),
                Some(_) => {}
                None => self.is_at_end = true,
            }
        }
        self.waiting.at_most(0).await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}
