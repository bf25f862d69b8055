// Package sentient is the message format of the planning chain, Sentient v1.6.0: reading one message, and judging it as a part of its session.
//
// [Decode] judges a message by itself and names everything that is wrong with it, each problem with its rule (SEN-…) and field. A
// [Session] judges messages in their order, repairs what code knows better than the model, and says which may be forwarded.
package sentient
