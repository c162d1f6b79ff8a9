package explain

import (
	"fmt"
	"strings"
	"time"

	"almanac/job"
)

// leftOut answers for an occurrence that was held while the job or its collection was disabled, and did not run then.
func (r *reasoner) leftOut(one *job.Record) bool {
	cause, by := Disabled, "the job was disabled"
	if strings.HasPrefix(one.WhyNot, job.WhyCollectionPaused) {
		cause, by = r.collectionChange(r.At)
	} else if v := r.version; v != nil && !v.Active() {
		_, by = r.inactiveSince(v)
	}
	return r.say(SkippedOut, cause, "It was held, since %s. When that was over, at %s, it was left out.", by, r.clock(one.Start))
}

// pause returns the pause of the job or its collection that holds the occurrence; nil if none does.
func (r *reasoner) pause() *job.Disabling {
	for _, d := range []struct {
		by *job.Disabling
		is bool
	}{{r.Job.DisabledBy, r.Job.Definition.State == job.StateDisabled}, {r.Job.CollectionPause, r.Job.CollectionDisabled}} {
		if d.is && d.by != nil && d.by.Holds() && !r.At.Before(d.by.At.Truncate(time.Second)) {
			return d.by
		}
	}
	return nil
}

// held answers for an occurrence that is held, or will be. by says who disabled the job.
func (r *reasoner) held(d *job.Disabling, cause Cause, by string) bool {
	end := "when somebody enables it"
	if !d.Until.IsZero() {
		end = "at " + r.clock(d.Until)
	}
	verb := "It is held"
	if r.future() {
		verb = "It will be held"
	}
	then := map[job.Recover]string{
		job.RecoverLatest: "It runs if no other occurrence is due later until then.",
		job.RecoverAll:    fmt.Sprintf("It runs then, if it is among the newest %d that are held.", job.MaxHeld),
	}[d.Recover]
	if then == "" {
		return r.say(WillNotRun, cause, "%s: %s. That ends %s, and it is left out.", verb, by, end)
	}
	return r.say(Pending, cause, "%s: %s. That ends %s. %s", verb, by, end, then)
}
