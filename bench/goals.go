package main

// A goal is what a figure is held against.
type goal struct {
	what string
	want string
	got  string
	met  bool
}

// goals returns those whose figures were measured.
func (r *results) goals() []goal {
	var b goals
	b.sceneGoals(r.scenes)
	b.atMost(r.latenessP99(1), 20)
	b.atMost(r.latenessP99(1000), 100)
	b.atMost(r.latenessP99(2000), 250)
	b.better(r.latenessP99(1000), nameSchedules, 20)
	b.better(r.cpu(), nameSchedules, 4)
	b.better(r.cpu(), nameLoop, 1.5)
	b.better(r.bytes(), nameSchedules, 4)
	b.better(r.rate(), nameSchedules, 3)
	b.better(r.rate(), nameLoop, 1.05)
	if early := r.mishaps("requests sent early", func(t tick) int { return t.early }); len(r.herds) > 0 {
		b.atMost(early, 0)
	}
	for _, c := range r.calls {
		switch c.name {
		case callList:
			b.add(c.name+", p50", milliseconds(c.p50), 300, formatMilliseconds)
		case callHistory:
			b.add(c.name+", p50", milliseconds(c.p50), 50, formatMilliseconds)
		}
	}
	b.isolationGoals(r.isolation)
	if s := r.sleep; s != nil {
		b.add(countOf(s.jobs, "sleeping job")+", idle CPU", s.idleCPU, 0.05, formatPercent)
		b.add(countOf(s.jobs, "sleeping job")+", memory at rest", float64(s.resident), 400e6, formatMegabytes)
		b.add(countOf(s.jobs, "sleeping job")+", first execution after a cold restart", milliseconds(s.first), 10_000, formatMilliseconds)
	}
	return b
}

// goals are collected one by one.
type goals []goal

// add adds that a figure is to be at most so much.
func (g *goals) add(what string, got, limit float64, format func(float64) string) {
	*g = append(*g, goal{what, "at most " + format(limit), format(got), got <= limit})
}

// atMost adds that a metric of Almanac is to be at most so much.
func (g *goals) atMost(m metric, limit float64) {
	if got, ok := m.of(nameAlmanac); ok {
		g.add(m.name, got, limit, m.format)
	}
}

// better adds that Almanac is to be better than another system by a factor.
func (g *goals) better(m metric, other string, factor float64) {
	if got, ok := m.better(nameAlmanac, other); ok {
		*g = append(*g, goal{m.name + ", beside " + other, "at least " + formatFactor(factor), formatFactor(got), got >= factor})
	}
}
