// Package control connects the ranks of a group: every rank has a Node, and rank 0 a Hub that
// the nodes are connected to, in memory or over TCP.
//
// The hub gathers small payloads of all ranks (Node.Gather), forwards messages from rank to rank
// (Node.Send, Node.Recv), and monitors the ranks. A rank that disconnects, is silent for longer than
// Config.Silence, or reports an error ends the group: every node gets a Failure with the rank,
// its host and the cause.
//
// Over TCP a connection begins with a handshake in which both sides prove that they know the
// token of the job. Every message has a bounded size.
//
// What belongs here: agreeing, forwarding, watching. What does not: arrays, launchers, and the
// engines that move large data (package dist).
package control
