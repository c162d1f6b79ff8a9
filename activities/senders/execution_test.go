package senders_test

import (
	"time"

	"almanac/job"
)

var execution = job.Execution{
	ID:         "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	Due:        time.Date(2015, 9, 10, 2, 0, 0, 500, time.FixedZone("", 2*60*60)),
	Repeat:     7,
	ActionName: job.MainAction,
	Job:        "nightly",
	Collection: "reports",
}
