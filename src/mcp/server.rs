//! The server: the official SDK of the Model Context Protocol over standard input and output.
//!
//! The SDK agrees on the revision of the protocol with the client and keeps to its lifecycle. Calls are done one after the
//! other, in the order in which they came: a snapshot that is sent together with what it is to protect from comes first. What
//! only looks waits for the ones before it for a moment, then goes on beside them. A call that the client cancels ends as by
//! Ctrl-C, and so does one whose server is gone, however that ended. A client that gave a token for it is told every five seconds that
//! its call goes on, or waits, so that it does not take it for dead. At the end of input the calls that came are finished and answered
//! (`transport`), then the server ends.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    InputRequest, InputRequests, InputRequiredResult, InputResponses, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, Role, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, Semaphore, oneshot};

use super::call::{self, Job, Stop, Work};
use super::tools::Effect;
use super::transport::StandardLines;
use super::{place, prompt, resources, schema, tools};
use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::threads;

/// A client that announced roots and then does not name them is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// This many calls may run at once, each in a process that a thread waits for.
const AT_ONCE: usize = 4;

/// What only looks waits this long for the calls before it.
const A_MOMENT: Duration = Duration::from_secs(3);

/// A client that wants to know is told this often that a call goes on.
const STEP: Duration = Duration::from_secs(5);

/// The client has this long to read what was written to it when all is over.
const LAST: Duration = Duration::from_secs(1);

/// The requests that are answered here.
const ANSWERED: [&str; 7] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
];

/// By this name the roots are asked for, and answered.
const ROOTS: &str = "roots";

/// Serves a client until it closes its end.
///
/// # Errors
/// `IO` when the client does not speak the protocol, or the system refuses a thread.
pub fn serve(start: PathBuf, env: Env) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        // Without input and output of its own: those have threads that may block.
        .enable_time()
        .build()
        .context(|| "cannot start the server")?;
    let (lines, written) = StandardLines::open().context(|| "cannot start the server")?;
    let (running, ended) = std::sync::mpsc::channel();
    let server = Server {
        start,
        env,
        places: Arc::new(Semaphore::new(AT_ONCE)),
        running,
        turn: Mutex::new(()),
        tools: serde_json::from_value(schema::listing()).map_err(std::io::Error::from)?,
    };
    let served = runtime.block_on(async {
        match server.serve(lines).await {
            Ok(running) => match running.waiting().await {
                Ok(_) => Ok(()),
                Err(error) => Err(Error::new(
                    Code::Io,
                    format!("the server broke down: {error}"),
                )),
            },
            // A client that looks whether the program starts, and goes.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(Error::new(
                Code::Io,
                format!("the client does not speak the Model Context Protocol: {error}"),
            )
            .hint("an agent starts 'tw mcp'; 'tw init' sets that up")),
        }
    });
    drop(runtime);
    // Closed when every call is over: none outlives its server.
    let _ = ended.recv();
    // Only the end is waited for, which is no message; a client that does not read is left to itself.
    let _ = written.recv_timeout(LAST);
    served
}

struct Server {
    start: PathBuf,
    env: Env,
    /// One for each call that may run now.
    places: Arc<Semaphore>,
    /// Held by each call that runs.
    running: std::sync::mpsc::Sender<()>,
    /// Held by the call whose turn it is; the others wait in line.
    turn: Mutex<()>,
    tools: Vec<Tool>,
}

/// The client's roots, or that it has to be asked first.
enum Roots {
    Known(Option<Vec<String>>),
    Ask,
}

impl Server {
    /// What the client announced, asked only when the call needs to know.
    async fn roots(
        &self,
        needed: bool,
        answers: Option<&InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Roots {
        let announced = context
            .client_capabilities()
            .is_some_and(|client| client.roots.is_some());
        if !announced || !needed {
            return Roots::Known(None);
        }
        // The revision that was agreed on decides; a client may know both ways.
        let version = context.protocol_version();
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            // Since this revision a server asks by answering that it lacks something.
            return match answers.and_then(|answers| answers.get(ROOTS)) {
                Some(answer) => Roots::Known(uris(answer)),
                None => Roots::Ask,
            };
        }
        #[expect(deprecated, reason = "the only way before 2026-07-28")]
        let asked = context.peer.list_roots();
        let answer = tokio::time::timeout(PATIENCE, asked).await;
        // Without an answer it is as if the client had none: the repository of the start, and no other.
        let answer = answer.ok().and_then(std::result::Result::ok);
        let answer = answer.and_then(|answer| serde_json::to_value(answer).ok());
        Roots::Known(answer.as_ref().and_then(uris))
    }

    fn needs_roots(&self, dir: Option<&Value>) -> bool {
        dir.is_some_and(|dir| !dir.is_null()) || place::is_nowhere(&self.start, &self.env)
    }

    async fn call(
        &self,
        work: Work,
        roots: Option<Vec<String>>,
        context: &RequestContext<RoleServer>,
        waiting: &mut Waiting,
    ) -> std::result::Result<Value, ErrorData> {
        let meta = serde_json::to_value(&context.meta);
        let job = Job {
            work,
            roots,
            // What cannot be passed on names no session.
            meta: meta.unwrap_or_default(),
        };
        let stop = Arc::new(Stop::default());
        let way_out = Arc::clone(&stop);
        let start = self.start.clone();
        let place = tokio::select! {
            place = Arc::clone(&self.places).acquire_owned() => place,
            () = context.ct.cancelled() => return Err(cancelled()),
        };
        let (tell, mut document) = oneshot::channel();
        let held = (place, self.running.clone());
        let started = threads::start(move || {
            let document = call::run(&job, &start, &way_out);
            drop(held);
            tell.send(document)
        });
        if let Err(error) = started {
            return Ok(call::failed(error));
        }
        let ended = tokio::select! {
            ended = &mut document => ended,
            () = context.ct.cancelled() => {
                stop.now();
                document.await
            }
            never = waiting.tell(context) => match never {},
        };
        ended.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Waits for the calls that came before; what only looks, not for long.
    async fn turn(&self, effect: Effect) -> Option<MutexGuard<'_, ()>> {
        // A lock of tokio's gives turns in the order of asking.
        let turn = self.turn.lock();
        match effect {
            Effect::ReadOnly | Effect::TakesIn => tokio::time::timeout(A_MOMENT, turn).await.ok(),
            Effect::Idempotent | Effect::Adds | Effect::Replaces => Some(turn.await),
        }
    }
}

fn cancelled() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}

/// How long a call has been waited for, in seconds.
#[derive(Default)]
struct Waiting(u32);

impl Waiting {
    /// Tells a client that gave a token for it how long, again and again.
    async fn tell(&mut self, context: &RequestContext<RoleServer>) -> Infallible {
        let Some(token) = context.meta.get_progress_token() else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(STEP).await;
            self.0 = self.0.saturating_add(5);
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(self.0));
            // Who does not take it any more is cancelled, or gone.
            let _ = context.peer.notify_progress(progress).await;
        }
    }
}

/// The URIs of a `roots/list` answer; None when it is none, or empty.
fn uris(answer: &Value) -> Option<Vec<String>> {
    let roots = answer.get("roots")?.as_array()?;
    let uris = roots.iter().filter_map(|root| root.get("uri")?.as_str());
    Some(uris.map(str::to_owned).collect::<Vec<_>>()).filter(|uris| !uris.is_empty())
}

/// Tells the client that its roots are needed first.
fn ask_for_roots() -> std::result::Result<InputRequiredResult, ErrorData> {
    let request: InputRequest = serde_json::from_value(json!({"method": "roots/list"}))
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let requests = InputRequests::from([(ROOTS.to_owned(), request)]);
    Ok(InputRequiredResult::from_input_requests(requests))
}

/// The document of a resource call, or its error as the protocol has it.
fn resource_result(document: Value) -> std::result::Result<Value, ErrorData> {
    if document["ok"] == true {
        return Ok(document);
    }
    let message = document["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let absent = [
        "ISSUE_NOT_FOUND",
        "INVALID_ISSUE_ID",
        "TRANSCRIPT_NOT_FOUND",
        "USAGE",
    ];
    Err(
        if absent.iter().any(|code| document["error"]["code"] == *code) {
            ErrorData::resource_not_found(message, Some(document))
        } else {
            ErrorData::internal_error(message, Some(document))
        },
    )
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let ourselves = Implementation::new("tw", env!("CARGO_PKG_VERSION")).with_title("Timewarp");
        ServerConfig::new(capabilities)
            .with_server_info(ourselves)
            .with_instructions(prompt::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::named(&request.name) else {
            let message = format!("unknown tool '{}'", request.name);
            // An error of the protocol, not a document: there is no tool that could have answered.
            return Err(ErrorData::invalid_params(message, None));
        };
        let mut waiting = Waiting::default();
        let _turn = tokio::select! {
            turn = self.turn(tool.effect) => turn,
            () = context.ct.cancelled() => return Err(cancelled()),
            never = waiting.tell(&context) => match never {},
        };
        let arguments = request.arguments.unwrap_or_default();
        let needed = self.needs_roots(arguments.get("dir"));
        let answers = request.input_responses.as_ref();
        let roots = match self.roots(needed, answers, &context).await {
            Roots::Known(roots) => roots,
            Roots::Ask => return Ok(ask_for_roots()?.into()),
        };
        let work = Work::Tool(request.name.into_owned(), arguments);
        let document = self.call(work, roots, &context, &mut waiting).await?;
        Ok(if document["ok"] == true {
            CallToolResult::structured(document)
        } else {
            CallToolResult::structured_error(document)
        }
        .into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let from = match cursor.as_deref().map(str::parse) {
            None => 0,
            Some(Ok(from)) => from,
            Some(Err(_)) => {
                return Err(ErrorData::invalid_params(
                    "this is not a cursor of tw",
                    None,
                ));
            }
        };
        // In the newest revision a list cannot ask back: there the directory of the start has to do.
        let roots = match self.roots(self.needs_roots(None), None, &context).await {
            Roots::Known(roots) => roots,
            Roots::Ask => None,
        };
        let work = Work::Resources(from);
        let mut waiting = Waiting::default();
        let called = self.call(work, roots, &context, &mut waiting);
        let document = resource_result(called.await?)?;
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let listed = document["resources"].as_array().into_iter().flatten();
        let listed = listed.map(|entry| {
            Resource::new(text(entry, "uri"), text(entry, "name"))
                .with_title(text(entry, "title"))
                .with_description(text(entry, "description"))
                .with_mime_type(resources::MIME_TYPE)
        });
        let mut result = ListResourcesResult::with_all_items(listed.collect());
        result.next_cursor = document["next"].as_u64().map(|next| next.to_string());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::TEMPLATES.map(|[uri, name, title, about]| {
            ResourceTemplate::new(uri, name)
                .with_title(title)
                .with_description(about)
                .with_mime_type(resources::MIME_TYPE)
        });
        Ok(ListResourceTemplatesResult::with_all_items(
            templates.into(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<ReadResourceResponse, ErrorData> {
        let answers = request.input_responses.as_ref();
        let roots = match self.roots(self.needs_roots(None), answers, &context).await {
            Roots::Known(roots) => roots,
            Roots::Ask => return Ok(ask_for_roots()?.into()),
        };
        let work = Work::Resource(request.uri.clone());
        let mut waiting = Waiting::default();
        let called = self.call(work, roots, &context, &mut waiting);
        let document = resource_result(called.await?)?;
        let contents = ResourceContents::text(document.to_string(), request.uri)
            .with_mime_type(resources::MIME_TYPE);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListPromptsResult, ErrorData> {
        let issue = PromptArgument::new(prompt::ISSUE_ID)
            .with_description(prompt::ISSUE_ID_ABOUT)
            .with_required(false);
        let protocol = Prompt::new(prompt::NAME, Some(prompt::ABOUT), Some(vec![issue]))
            .with_title(prompt::TITLE);
        Ok(ListPromptsResult::with_all_items(vec![protocol]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<GetPromptResponse, ErrorData> {
        if request.name != prompt::NAME {
            let message = format!("unknown prompt '{}'", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let issue = arguments.get(prompt::ISSUE_ID).and_then(Value::as_str);
        let message = PromptMessage::new_text(Role::User, prompt::text(issue));
        Ok(GetPromptResult::new(vec![message])
            .with_description(prompt::ABOUT)
            .into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<CustomResult, ErrorData> {
        // What the SDK cannot read as one of the protocol's own requests comes here.
        let method = request.method;
        Err(if ANSWERED.contains(&method.as_str()) {
            let what = format!("the params of '{method}' are not those of the protocol");
            ErrorData::invalid_params(what, None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
        })
    }
}
