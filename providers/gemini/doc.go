// Package gemini runs the program gemini without anybody to ask, for turns that only read: reviews, plans and the steps of a planning chain. It is
// started in its mode for plans, in which it changes nothing. As an executor gemini runs through package acp, where it can ask.
package gemini
