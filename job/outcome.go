package job

// An Outcome is what became of an attempt, of an execution, or of an occurrence that was not run.
type Outcome string

// The outcomes; [outcomes] says what each is.
const (
	OutcomeCompleted Outcome = "Completed"
	OutcomeFailed    Outcome = "Failed"
	OutcomePostponed Outcome = "Postponed" // from Azure Scheduler; nothing has it
	OutcomeMissed    Outcome = "Missed"    // came due when it could not run, or while too many were waiting
	OutcomeSkipped   Outcome = "Skipped"   // came due while the previous execution was running
	OutcomeCancelled Outcome = "Cancelled" // withdrawn before it was sent
)

// An outcome says what an [Outcome] is.
type outcome struct {
	Outcome
	mark   int              // its number in a [Mark], 0 to 6, which is stored; or noMark
	ran    bool             // a request was sent, or may have been
	failed bool             // and did not succeed
	missed bool             // an occurrence did not run, and nobody asked for that: people are notified
	words  string           // of one that did not run: they stand before the reason in the history
	count  func(*Hour) *int // its counter, beside those of what ran; nil: none
}

const (
	noMark    = 7 // nothing has the outcome
	notRun    = "It was not run: "
	cancelled = "It was cancelled: "
)

// outcomes has all outcomes, in the order in which errors list them. Filters, the history, marks, counters and alerts
// ask it, so another outcome is a row here.
var outcomes = []outcome{
	{Outcome: OutcomeCompleted, mark: 0, ran: true},
	{Outcome: OutcomeFailed, mark: 1, ran: true, failed: true, count: func(h *Hour) *int { return &h.Failed }},
	{Outcome: OutcomePostponed, mark: noMark},
	{Outcome: OutcomeMissed, mark: 2, missed: true, words: notRun, count: func(h *Hour) *int { return &h.Missed }},
	{Outcome: OutcomeSkipped, mark: 3, missed: true, words: notRun, count: func(h *Hour) *int { return &h.Skipped }},
	{Outcome: OutcomeCancelled, mark: 4, words: cancelled, count: func(h *Hour) *int { return &h.Cancelled }},
}

// row returns what the table says of an outcome; of one that is not in it, that it is nothing.
func (o Outcome) row() outcome {
	for _, row := range outcomes {
		if row.Outcome == o {
			return row
		}
	}
	return outcome{mark: noMark}
}

// OutcomesThat returns all outcomes of which something is true, such as [Outcome.Ran].
func OutcomesThat(is func(Outcome) bool) (found []Outcome) {
	for _, row := range outcomes {
		if is(row.Outcome) {
			found = append(found, row.Outcome)
		}
	}
	return found
}

// OutcomeOf returns the outcome of what ran.
func OutcomeOf(failed bool) Outcome {
	if failed {
		return OutcomeFailed
	}
	return OutcomeCompleted
}

// Known reports whether it is an outcome.
func (o Outcome) Known() bool { return o.row().Outcome != "" }

// Ran reports whether a request was sent, or may have been.
func (o Outcome) Ran() bool { return o.row().ran }

// Failed reports whether what ran did not succeed.
func (o Outcome) Failed() bool { return o.row().failed }

// Succeeded reports whether what ran did.
func (o Outcome) Succeeded() bool { return o.Ran() && !o.Failed() }

// Missed reports whether an occurrence did not run though nobody asked for that.
func (o Outcome) Missed() bool { return o.row().missed }

// Never reports whether nothing has the outcome.
func (o Outcome) Never() bool { return o.Known() && o.row().mark == noMark }

// NotRun returns the message of an occurrence that did not run, without its period.
func (o Outcome) NotRun(why string) string { return o.row().words + why }
