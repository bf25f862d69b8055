// Package notify tells people who are not at the screen what waits for them, and takes their decisions: over Telegram, and one way as
// desktop notifications and signed webhooks.
//
// What is told is derived from the journal: for each thing that waits there is one message in each chat, changed in place when the thing
// changes or is decided, wherever that was. Nothing is remembered besides the journal but what was sent where, in one file of the data
// directory, so a restart or an outage of hours loses nothing and repeats only what nobody can know to have arrived.
//
// A decision from a chat is the same command as from a screen, under the same rules: it names the state that it was made on and is refused
// when the task has moved on. Each button is good for one decision, by a secret that is bound to the command, the task, its revision and
// content, and expires. Who is not configured gets no answer of any kind.
package notify
