// Package sandbox starts the programs of agents and ends them so that nothing is left behind.
//
// Every program runs in a session of its own with an environment built from an allow-list, and carries the id of its turn in the
// environment variable [Marker], which its descendants inherit. [Process.Stop] ends them all: the session, every descendant, and
// daemons that left the session and lost their parent, found by the marker, by their working folder and by the pipes they hold.
// What cannot be ended is named in a [*LeftError]. After a crash of this process [KillOrphans] does the same by the marker alone.
//
// A [Leash] says what programs may reach of this machine and of the network; [Leash.Open] makes a [Cage] of it for one turn, in which
// programs run under bubblewrap or Landlock and reach their model through a proxy that alone holds the key. A cage starts this program
// again as a shim: every main function hands it to [Main], see [ShimCommand].
//
// On Linux the program dies with the process that started it, and this process becomes the parent of what the program orphans
// (child subreaper). A daemon that clears its environment, leaves session and folder, closes its pipes and loses its parent can
// only be held by a PID namespace, as a cage of bubblewrap has one. macOS has neither mechanism: there the marker and the family tree
// are all there is.
package sandbox
