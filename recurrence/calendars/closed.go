package calendars

import "time"

// A Closing is a blackout in which an instant is.
type Closing struct {
	Blackout
	Until time.Time // the first instant in no blackout; the end of this one if that is out of reach
}

// Closed returns the first of some blackouts in which an instant is; nil for none. The zone is that of the job; nil is UTC.
func Closed(all []Blackout, t time.Time, zone *time.Location) *Closing {
	p := NewPlan(Input{Location: zone, Blackouts: all}, t)
	i, end := p.covering(t.Unix())
	if i < 0 {
		return nil
	}
	if until, ok := p.allowed(t.Unix(), t.Unix()); ok {
		end = until
	}
	return &Closing{all[i], time.Unix(end, 0).UTC()}
}

// Closes returns when the first blackout begins after an instant, if that is within a time; false if none does. The time
// is short: it is looked for day by day.
func (p *Plan) Closes(after time.Time, within time.Duration) (time.Time, bool) {
	t, last := after.Unix(), after.Add(within).Unix()
	first := last + 1
	for i := range p.in.Blackouts {
		b := &p.in.Blackouts[i]
		if !b.Start.IsZero() {
			if start := b.Start.Unix(); start > t {
				first = min(first, start)
			}
			continue
		}
		zone := b.Location
		if zone == nil {
			zone = p.uses.zone
		}
		for day := date(t, zone); day <= date(last, zone); day++ {
			if start, _, ok := b.on(day, zone); ok && start > t {
				first = min(first, start)
			}
		}
	}
	return time.Unix(first, 0).UTC(), first <= last
}
