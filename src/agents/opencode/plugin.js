// Installed by 'tw init --agent opencode'; 'tw init --agent opencode --remove' takes it away.
// Tells tw of sessions and prompts. Never fails the agent, and waits no longer than ten seconds.
import { spawn } from "node:child_process"

const tell = (event, payload, cwd) =>
  new Promise((done) => {
    const timer = setTimeout(done, 10_000)
    const end = () => {
      clearTimeout(timer)
      done()
    }
    try {
      const child = spawn("tw", ["hook", "opencode", event], { cwd, stdio: ["pipe", "ignore", "ignore"] })
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      end()
    }
  })

const EVENTS = ["session.created", "session.idle", "session.compacted", "session.deleted"]

export const Timewarp = async ({ directory }) => ({
  event: async ({ event }) => {
    if (EVENTS.includes(event.type)) await tell(event.type, { ...event, directory }, directory)
  },
  "chat.message": async (input, output) => {
    const parts = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
    const prompt = parts.map((part) => part.text).join("\n")
    const messageID = output?.message?.id ?? input.messageID
    await tell("chat.message", { sessionID: input.sessionID, messageID, directory, prompt }, directory)
  },
})
