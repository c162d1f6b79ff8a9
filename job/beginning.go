package job

import "time"

// A Beginning says what the first attempt of an execution waited for. It is part of its record.
type Beginning struct {
	// how long after the due time, in milliseconds, a worker took its task; 0 if one had it before
	Taken int `json:"taken,omitempty"`
	// how long it waited after that and after the due time, in milliseconds, for Temporal to record that it may be sent
	Asked int `json:"asked,omitempty"`
	// how often it was put off, since its host had no place
	PutOff int `json:"putOff,omitempty"`
	// how long after its start it began to send, in microseconds: it connected, for example; 0 if that is not known
	Sent int `json:"sent,omitempty"`
}

// A Split says what an execution waited for.
type Split struct {
	Worker time.Duration // for a worker to take it
	Server time.Duration // for Temporal to record that it may be sent
	Place  time.Duration // for a place: at the worker, or at the host, which takes so many requests at once
	Send   time.Duration // from its start until it began to send
}

// Split returns what the execution waited for that begins with the record, which [Record.Lateness] is of. Send is no part
// of the lateness; the others make it up.
func (r *Record) Split() Split {
	late := max(0, r.Start.Sub(r.Begin()))
	s := Split{Worker: min(late, time.Duration(r.Taken)*time.Millisecond), Send: time.Duration(r.Sent) * time.Microsecond}
	s.Server = min(late-s.Worker, time.Duration(r.Asked)*time.Millisecond)
	if r.PutOff > 0 { // since its host had no place: when a worker took it first is not known
		s.Worker, s.Server = 0, 0
	}
	s.Place = late - s.Worker - s.Server
	return s
}
