package amp

import "time"

// QueryKind is what a client asks the coordinator for.
type QueryKind string

// The kinds of queries.
const (
	// QueryBoard answers with Page.Board, the fold at Page.Head.
	QueryBoard QueryKind = "board"
	// QueryEntries answers with Page.Entries as the filter says.
	QueryEntries QueryKind = "entries"
	// QueryDiff answers with Page.Text and Page.Diff: the difference of TaskID from From to To, as Query.Diff says; empty ends
	// mean base and tip.
	QueryDiff QueryKind = "diff"
	// QueryLog answers with Page.Text: the end of a turn's raw output, at most 1 MiB; From is the turn id, or empty for the
	// coordinator's own log.
	QueryLog QueryKind = "log"
	// QueryChecklist answers with Page.Check: the resume checklist of TaskID, verified now.
	QueryChecklist QueryKind = "checklist"
	// QueryStatus answers with Page.Status.
	QueryStatus QueryKind = "status"
	// QueryPull answers with Page.Pull: what a delivery of TaskID by pull request would send now, and where. Nothing is sent.
	QueryPull QueryKind = "pull"
)

// Query is one question to a coordinator.
type Query struct {
	Kind   QueryKind `json:"kind"`
	Filter Filter    `json:"filter,omitzero"`
	TaskID TaskID    `json:"task_id,omitzero"`
	From   string    `json:"from,omitzero"`
	To     string    `json:"to,omitzero"`
	// Diff says how a difference is shown.
	Diff DiffOptions `json:"diff,omitzero"`
}

// Filter selects entries of a journal. Zero fields select everything.
type Filter struct {
	// After and Before bound seq, both exclusive; 0 is open.
	After  uint64 `json:"after,omitzero"`
	Before uint64 `json:"before,omitzero"`
	TaskID TaskID `json:"task_id,omitzero"`
	Kinds  []Kind `json:"kinds,omitzero"`
	// ID selects the one entry with this id.
	ID string `json:"id,omitzero"`
	// Text selects bodies that contain it, byte for byte but for the case.
	Text string `json:"text,omitzero"`
	// Search selects by what entries say; see [ParseSearch] for the language of people.
	Search *Search `json:"search,omitzero"`
	// Limit is the most entries that one answer holds; 0 means 1,000, more than 1,000 is cut to 1,000.
	Limit int `json:"limit,omitzero"`
	// Newest returns the newest entries first.
	Newest bool `json:"newest,omitzero"`
}

// Page is the answer to a Query; the fields that the query asked for are set.
type Page struct {
	Head    Head    `json:"head"`
	Board   *Board  `json:"board,omitzero"`
	Entries []Entry `json:"entries,omitzero"`
	// More says that the filter selects others behind Entries.
	More bool `json:"more,omitzero"`
	// Count is how many entries a filter with a Search selects, whatever its limit. With CountCapped there are more than that, and
	// it is shown as "1,000+": counting ends there, or earlier where it would take long.
	Count       int  `json:"count,omitzero"`
	CountCapped bool `json:"count_capped,omitzero"`

	Text   string            `json:"text,omitzero"`
	Diff   *Diff             `json:"diff,omitzero"`
	Check  *Check            `json:"check,omitzero"`
	Status *CoordinatorState `json:"status,omitzero"`
	Pull   *PullPlan         `json:"pull,omitzero"`
}

// CoordinatorState is what a running coordinator says of itself.
type CoordinatorState struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Home    string `json:"home"`
	// Log is the file of the coordinator's own log, empty when it has none.
	Log string `json:"log,omitzero"`
	// Listen is the address of the client API over TCP, empty when it is served on the socket only.
	Listen  string    `json:"listen,omitzero"`
	Started time.Time `json:"started"`
	// Turns is how many agents run now, Slots how many may, Queued how many tasks wait for a free one.
	Turns   int  `json:"turns"`
	Queued  int  `json:"queued,omitzero"`
	Slots   int  `json:"slots"`
	Stopped bool `json:"stopped"`
	// Indexed is the last entry in the index of searches; those behind it are looked through one by one.
	Indexed uint64 `json:"indexed,omitzero"`
	// Mirror is how far the mirror of the journal is, nil when there is none.
	Mirror *MirrorState `json:"mirror,omitzero"`
	// Agents are the configured agents by role; Roles names the one that gets a task whose plan names nobody.
	Agents map[Role][]string `json:"agents"`
	Roles  map[Role]string   `json:"roles,omitzero"`
	// UndoMS is how long a decision taken on a screen can be taken back, in milliseconds; AckSec are the ACK timeouts that are
	// not the protocol's, HeartbeatSec is how long a role with an open duty may write nothing, both in seconds. Zero is not known.
	UndoMS       int64               `json:"undo_ms,omitzero"`
	AckSec       map[MessageType]int `json:"ack_sec,omitzero"`
	HeartbeatSec int                 `json:"heartbeat_sec,omitzero"`
	// AwakeSince is since when this coordinator is awake after it was not for a minute or more: no silence of a role counts from before. Zero when
	// it knows of no such gap.
	AwakeSince time.Time `json:"awake_since,omitzero"`
	// Crew are the configured agents by name. Budget bounds a task whose plan sets no bound of its own.
	Crew   []AgentFacts `json:"crew,omitzero"`
	Budget Budget       `json:"budget,omitzero"`
	// Pulls says that a task can be delivered by pull request: [github] is configured.
	Pulls bool `json:"pulls,omitzero"`
	// Bus is who is on the AgentMessage bus and what waits there, nil when the coordinator has none.
	Bus *BusFacts `json:"bus,omitzero"`
	// Team is what this coordinator knows of the others that write its journal, nil when it writes alone.
	Team *TeamState `json:"team,omitzero"`
}

// BusFacts is how the AgentMessage bus of a coordinator stands.
type BusFacts struct {
	// Agents are those that registered and those of the configuration, by id on the bus.
	Agents []BusAgent `json:"agents"`
	// Queued is how many messages wait for an agent, Dead how many could not be delivered.
	Queued int `json:"queued"`
	Dead   int `json:"dead_letters"`
}

// BusAgent is one agent on the bus.
type BusAgent struct {
	AgentID string `json:"agent_id"`
	// Name is the configured agent that it is, empty for one that only registered.
	Name string `json:"name,omitzero"`
	// Healthy says that it is there and well, Health how it is, in a few words of ours and what it said of itself.
	Healthy bool   `json:"healthy"`
	Health  string `json:"health"`
	Queued  int    `json:"queued,omitzero"`
}

// TeamState is what one of several coordinators of a journal knows of them.
type TeamState struct {
	// Owner is its own name.
	Owner string `json:"owner"`
	// Members are the coordinators that were there when it last looked, by name.
	Members []TeamMember `json:"members"`
	// Owned are the tasks on which a coordinator acts now; on the others nothing is to be done, or nobody can.
	Owned []TeamTask `json:"owned"`
	// Away are tasks that wait for another machine, and why this one cannot go on with them.
	Away []TeamTask `json:"away,omitzero"`
	// Kept are tasks of this coordinator with a commit that no other machine can get, since when and why: they cannot be handed over.
	Kept []TeamTask `json:"kept,omitzero"`
	// OffsetMS is how far the store's clock is ahead of this machine's, in milliseconds.
	OffsetMS int64 `json:"offset_ms"`
	// Unreached is since when the store has not answered, nil while it does.
	Unreached *time.Time `json:"unreached,omitzero"`
}

// TeamMember is one coordinator.
type TeamMember struct {
	Owner string `json:"owner"`
	// Tasks is how many it acts on. Until is when it is no longer taken to be there, by the store's clock, unless it shows itself.
	Tasks int `json:"tasks"`
	// Duties are what it does for the whole team.
	Duties []string  `json:"duties,omitzero"`
	Until  time.Time `json:"until"`
}

// TeamTask is a task and whose it is.
type TeamTask struct {
	TaskID TaskID `json:"task_id"`
	Owner  string `json:"owner,omitzero"`
	// Epoch is that of the lease, Until when it lapses by the store's clock unless it is renewed.
	Epoch uint64    `json:"epoch,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Why   string    `json:"why,omitzero"`
	Since time.Time `json:"since,omitzero"`
}

// AgentFacts is what is known of a configured agent before it does anything: its configuration, and what the way to it promises.
// What the program behind it can do shows in its turns.
type AgentFacts struct {
	Name string `json:"name"`
	// Through is how turns reach it: "command" for a program that Arbiter runs, "api" for a model that it asks over HTTP, "external"
	// for one that takes part by itself.
	Through string `json:"through"`
	Vendor  string `json:"vendor,omitzero"`
	Roles   []Role `json:"roles"`
	// Acks is who acknowledges its messages: "agent" itself, or "auto", Arbiter once the program has read them.
	Acks string `json:"acks,omitzero"`
	// Confined is what holds its programs: "bwrap", "landlock", "off" for nothing, "none" when they are not started since this machine
	// cannot confine them; empty when Arbiter starts no program of it.
	Confined string `json:"confined,omitzero"`
	// Resumes, ReportsCost and Stops say that the way to it carries sessions over, takes reports of tokens and cost, and proves that
	// nothing of an ended turn is left.
	Resumes     bool `json:"resumes,omitzero"`
	ReportsCost bool `json:"reports_cost,omitzero"`
	Stops       bool `json:"stops,omitzero"`
	// SilenceSec and TotalSec bound a turn, OutputBytes what it may write; 0 is not known.
	SilenceSec  int   `json:"silence_sec,omitzero"`
	TotalSec    int   `json:"total_sec,omitzero"`
	OutputBytes int64 `json:"output_bytes,omitzero"`
}
