// Package brief is what a model is told and how its answer is read: the same for every program and every API. It writes the text of a turn
// from the AMP message, asks for a SACP object with the role's payload in its data, and reads that object from what the model wrote.
//
// It never repairs an answer: what does not hold a payload is a failure that names what is wrong, with the object kept.
package brief
