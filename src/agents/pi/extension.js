// Installed by 'tw init --agent pi'; 'tw init --agent pi --remove' takes it away.
// Tells tw of sessions, prompts and turns, and the model of what a rewind left for it. Never fails the agent, and waits no
// longer than ten seconds.
import { spawn } from "node:child_process"

const tell = (event, ctx, more) =>
  new Promise((done) => {
    let said = ""
    const end = () => {
      clearTimeout(timer)
      done(said)
    }
    const timer = setTimeout(end, 10_000)
    try {
      const session = ctx.sessionManager
      const payload = { session_id: session.getSessionId(), transcript_path: session.getSessionFile(), cwd: ctx.cwd, ...more }
      const child = spawn("tw", ["hook", "pi", event], { cwd: ctx.cwd, stdio: ["pipe", "pipe", "ignore"] })
      child.on("error", end)
      child.on("close", end)
      child.stdout.on("data", (data) => (said += data))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      end()
    }
  })

const noteIn = (said) => {
  try {
    return JSON.parse(said).hookSpecificOutput.additionalContext
  } catch {
    return undefined
  }
}

const textOf = (content) =>
  typeof content === "string"
    ? content
    : (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")

export default function (pi) {
  let note
  pi.on("session_start", async (event, ctx) => {
    note = noteIn(await tell("session-start", ctx, { source: event.reason }))
  })
  pi.on("before_agent_start", () => {
    const content = note
    note = undefined
    return content ? { message: { customType: "timewarp", content, display: true } } : undefined
  })
  // Before the message is written down: the session ends where the prompt begins.
  pi.on("message_start", async (event, ctx) => {
    if (event.message.role !== "user") return
    await tell("user-prompt-submit", ctx, { prompt: textOf(event.message.content) })
  })
  pi.on("agent_settled", async (_event, ctx) => {
    await tell("stop", ctx)
  })
  pi.on("session_shutdown", async (event, ctx) => {
    if (event.reason !== "reload") await tell("session-end", ctx, { reason: event.reason })
  })
}
