//! The server as `rmcp` sees it: what it is called, its tools, and calls.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, serve_server};
use tokio::sync::oneshot;

use super::calls::{self, Waiting};
use super::tools::{TOOLS, Tool};
use super::transport::Stdio;
use super::words::{Call, Defaults, MOST_ECHOED, cut};
use crate::cli::Failure;
use crate::paths::Folders;

/// For agents: how to begin.
const INSTRUCTIONS: &str = "Windows memory traces (ETW, .etl): open says what a trace holds, findings what stands out, report who holds \
    memory in an interval (by: responsible), stack how one got there, diff what changed. Layers (commit, heap, tracker) nest: never add \
    them. impacting_size is end minus start. Times are seconds since the trace start. If truncated is there, ask about less (process, \
    layer, top, from, to) or raise max_bytes. demo: is a built-in trace.";

struct Server {
    calls: Sender<Waiting>,
    defaults: Defaults,
}

/// Serves until stdin ends and all calls are answered.
pub(super) fn serve(defaults: Defaults, roots: Folders) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("the server could not be started: {error}"));
    let calls = calls::start(roots).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
    runtime.block_on(async {
        // A client that leaves before it began, or does not listen any more, is no failure.
        if let Ok(service) = serve_server(Server { calls, defaults }, Stdio::new()).await {
            let _ = service.waiting().await;
        }
    });
    // Stdin may still be waited for, if it was stdout that ended.
    runtime.shutdown_background();
    Ok(())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("highwater", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(described).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let bad = |reason: String| ErrorData::invalid_params(reason, None);
        let tool = Tool::named(&request.name).ok_or_else(|| bad(unknown(&request.name)))?;
        let call = Call::of(tool, request.arguments.unwrap_or_default(), &self.defaults).map_err(bad)?;
        let (reply, answered) = oneshot::channel();
        let stopped = || ErrorData::internal_error("the server stopped answering", None);
        self.calls.send(Waiting { call, cancelled: context.ct, reply }).map_err(|_| stopped())?;
        let result = match answered.await.map_err(|_| stopped())? {
            Ok(answer) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = Some(answer.value);
                result
            }
            Err(sentence) => CallToolResult::error(vec![ContentBlock::text(sentence)]),
        };
        Ok(result.into())
    }

    /// Requests that are none of the protocol's, and those whose parameters have another form.
    async fn on_custom_request(
        &self,
        CustomRequest { method, .. }: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match method.as_str() {
            "tools/call" | "tools/list" | "initialize" => {
                ErrorData::invalid_params(format!("{method}: parameters of another form"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    format!("there is no tool {}; there are {}", cut(name, MOST_ECHOED), names.join(", "))
}

fn described(tool: &Tool) -> rmcp::model::Tool {
    let reads = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
    rmcp::model::Tool::new(tool.name, tool.about, Arc::new(tool.schema())).with_annotations(reads)
}
