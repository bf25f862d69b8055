// Package audit writes the daily log of the planning chain, system/logs/YYYYMMDD.log in the data directory, in the layout of the Sentient
// format (SEN-070 to SEN-074). It follows the journal and holds nobody up.
//
// Every chain entry is written once, whenever the process dies: before an entry is appended, a cursor beside the logs says which entry
// comes where, and what a crash left of it is completed, not repeated. The logs are only appended to.
package audit
