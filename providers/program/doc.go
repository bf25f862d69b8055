// Package program follows a program that is an agent from its start to its end: line by line, within the limits of the turn, until no
// process of it is left. What the lines mean is the adapter's.
package program
