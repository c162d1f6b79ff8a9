package presence_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/presence"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }

func span(id string, from, to int, end presence.End, gaps ...presence.Interval) presence.Span {
	return presence.Span{
		Worker:  presence.Worker{ID: id},
		Segment: presence.Segment{From: at(from), To: at(to), End: end, Gaps: gaps},
	}
}

func gap(from, to int) presence.Interval { return presence.Interval{From: at(from), To: at(to)} }

func log(now int, ended []presence.Span, here ...presence.Span) *presence.Log {
	l := &presence.Log{State: presence.State{Since: at(0)}, Here: here}
	for _, s := range ended {
		l.Add(s, at(now))
	}
	return l
}

func seconds(all []presence.Interval) string {
	var text []string
	for _, one := range all {
		text = append(text, fmt.Sprintf("%g-%g", one.From.Sub(begin).Seconds(), one.To.Sub(begin).Seconds()))
	}
	return strings.Join(text, " ")
}

func TestAbsencesAreTheTimesInWhichNoWorkerCheckedIn(t *testing.T) {
	t.Parallel()
	type spans = []presence.Span
	for _, tt := range []struct {
		name  string
		ended spans
		here  spans
		want  string
	}{
		{"one that is there", nil, spans{span("a", 0, 995, "")}, ""},
		{"none has ever been there", nil, nil, "0-1000"},
		{"one that has gone", spans{span("a", 0, 100, presence.Stopped)}, nil, "100-1000"},
		{"one that followed", spans{span("a", 0, 100, presence.Stopped)}, spans{span("b", 103, 995, "")}, "100-103"},
		{"one that followed at once", spans{span("a", 0, 100, presence.Stopped)}, spans{span("b", 101, 995, "")}, ""},
		{"one that was there meanwhile", spans{span("a", 0, 100, presence.Lost)}, spans{span("b", 50, 995, "")}, ""},
		{"two losses, of which the later is known first", spans{
			span("b", 300, 400, presence.Lost), span("a", 0, 100, presence.Lost),
		}, spans{span("c", 500, 995, "")}, "100-300 400-500"},
		{"one that was frozen", nil, spans{span("a", 0, 995, "", gap(100, 130), gap(200, 220))}, "100-130 200-220"},
		{"two that were frozen at different times", nil, spans{
			span("a", 0, 995, "", gap(100, 130)), span("b", 0, 990, "", gap(120, 150)),
		}, "120-130"},
		{"one that is silent now", nil, spans{span("a", 0, 984, "")}, "984-1000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, seconds(log(1000, tt.ended, tt.here...).Absences(at(-100), at(2000), at(1000))))
		})
	}
}

func TestOnlyAbsencesThatTouchTheTimeAreReturnedAtTheirFullLength(t *testing.T) {
	t.Parallel()
	l := log(1000, []presence.Span{span("a", 0, 100, presence.Lost), span("b", 200, 300, presence.Lost)}, span("c", 400, 995, ""))
	require.Equal(t, "100-200", seconds(l.Absences(at(150), at(160), at(1000))))
	require.Equal(t, "300-400", seconds(l.Absences(at(200), at(301), at(1000))))
	require.Empty(t, l.Absences(at(210), at(290), at(1000)))
}

func TestASpanThatIsHandedOverIsContinued(t *testing.T) {
	t.Parallel()
	l := log(1000, []presence.Span{
		span("a", 0, 100, presence.Continues, gap(20, 50)), span("b", 0, 120, presence.Continues),
		span("a", 100, 300, presence.Stopped, gap(100, 150)),
	})
	require.Len(t, l.Spans, 2)
	require.Equal(t, span("a", 0, 300, presence.Stopped, gap(20, 50), gap(100, 150)), l.Spans[1])
	require.Equal(t, presence.Continues, l.Spans[0].End, "that one was of another worker")
}

// It was handed over, and killed before it took its next activity, which is known an hour later.
func TestAWorkerThatIsLostWhileItIsHandedOverWasThereUntilItsLastCheckIn(t *testing.T) {
	t.Parallel()
	for _, end := range []presence.End{presence.Lost, presence.Continues} {
		never := span("a", 3700, 0, end)
		never.To = time.Time{}
		l := log(3730, []presence.Span{span("a", 0, 100, presence.Continues), never})
		require.Equal(t, []presence.Span{span("a", 0, 100, end)}, l.Spans)
	}
	never := span("a", 3700, 0, presence.Lost)
	never.To = time.Time{}
	require.Equal(t, []presence.Span{span("a", 3700, 3700, presence.Lost)}, log(3730, []presence.Span{never}).Spans,
		"it has announced itself then")
}

// A span that has too many gaps is not continued, and neither is one before it.
func TestASpanContinuesTheLastOne(t *testing.T) {
	t.Parallel()
	var gaps []presence.Interval
	for i := range 15 {
		gaps = append(gaps, gap(1000+100*i, 1050+100*i))
	}
	l := log(9000, []presence.Span{
		span("a", 0, 1000, presence.Continues, gap(100, 200), gap(300, 400), gap(500, 600), gap(700, 800), gap(850, 900), gap(950, 980)),
		span("a", 1000, 3000, presence.Continues, gaps...),
		span("a", 3000, 4000, presence.Stopped, gap(3000, 3500)),
	})
	require.Len(t, l.Spans, 2)
	require.Equal(t, at(1000), l.Spans[1].From)
	require.Equal(t, "950-980 1000-1050", seconds(l.Absences(at(950), at(1050), at(4000))))
	require.Equal(t, "3000-3500", seconds(l.Absences(at(3000), at(4000), at(4000))))
}

func TestAClockThatWasSetBackTurnsNoSpanAround(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		segment  presence.Segment
		now      int
		from, to int
		gaps     string
	}{
		{"before the first one", presence.Segment{From: at(3600), To: at(3600)}, 10, 10, 10, ""},
		{"before a gap", presence.Segment{From: at(0), To: at(3600), Gaps: []presence.Interval{gap(50, 80), gap(500, 600)}}, 100, 0, 100, "50-80"},
		{"within a gap", presence.Segment{From: at(0), To: at(3600), Gaps: []presence.Interval{gap(50, 80), gap(90, 3600)}}, 100, 0, 100, "50-80 90-100"},
	} {
		s := tt.segment
		s.CheckIn(at(tt.now))
		require.Equal(t, []time.Time{at(tt.from), at(tt.to)}, []time.Time{s.From, s.To}, tt.name)
		require.Equal(t, tt.gaps, seconds(s.Gaps), tt.name)
	}
}

func TestGapsAreIntervals(t *testing.T) {
	t.Parallel()
	s := presence.Segment{From: at(0), To: at(0)}
	for _, second := range []int{10, 20, 35, 51, 61} {
		s.CheckIn(at(second))
	}
	require.Equal(t, presence.Segment{From: at(0), To: at(61), Gaps: []presence.Interval{gap(35, 51)}}, s)
}

// A worker that is started again and again replaces the record of no absence before it.
func TestSpansAreBoundedAndAbsencesOutliveThem(t *testing.T) {
	t.Parallel()
	s := presence.State{Since: at(0)}
	s.Add(span("first", 0, 1000, presence.Lost), at(1000))
	for i := range 5_000 { // from 2000 on, 5 s each
		from := 2000 + 5*i
		s.Add(span(fmt.Sprint("loop", i), from, from+3, presence.Lost), at(from+5))
	}
	require.Len(t, s.Spans, 200)
	l := presence.Log{State: s}
	require.Equal(t, "1000-2000", seconds(l.Absences(at(0), at(2000), at(27_000))))
	require.Equal(t, "24503-24505 24508-24510", seconds(l.Absences(at(24_504), at(24_509), at(27_000))), "the loop's are known for long")
}

func TestWorkersThatAreHandedOverReplaceNoneThatHasGone(t *testing.T) {
	t.Parallel()
	s := presence.State{Since: at(0)}
	for i := range 250 {
		s.Add(span(fmt.Sprint("gone", i), i, i+1, presence.Stopped), at(1000))
	}
	for i := range 200 {
		s.Add(span(fmt.Sprint("there", i), 0, 1000, presence.Continues), at(1000))
	}
	require.Len(t, s.Spans, 400)
	require.Equal(t, "gone50", s.Spans[0].ID)
	for i := range 200 {
		s.Add(span(fmt.Sprint("there", i), 1000, 2000, presence.Continues), at(2000))
	}
	require.Len(t, s.Spans, 400)
	require.Equal(t, span("there0", 0, 2000, presence.Continues), s.Spans[200])
	s.Add(span("there0", 2000, 2001, presence.Stopped), at(2001))
	require.Len(t, s.Spans, 399, "it replaces the one that has gone first")
	require.Equal(t, "gone51", s.Spans[0].ID)
}

func TestAWorkerIsPlainText(t *testing.T) {
	t.Parallel()
	w := presence.Worker{ID: "a", Identity: "1@høst<\x00>" + strings.Repeat("x", 300)}.Bounded()
	require.Equal(t, "1@h?st???"+strings.Repeat("x", 191), w.Identity)
}

func TestAStateAtItsMaximumIsBelowHalfOfTheServersLimit(t *testing.T) {
	t.Parallel()
	s := presence.State{Since: begin}
	at := begin
	for range 5_000 {
		long := strings.Repeat("<", 1000)
		one := presence.Span{Worker: presence.Worker{ID: long, Identity: long, Version: long, Zones: long, Queue: long}.Bounded()}
		one.From, one.To, one.End = at, at.Add(time.Hour+time.Nanosecond), presence.Continues
		for i := range presence.MaxGaps {
			one.Gaps = append(one.Gaps, presence.Interval{
				From: at.Add(time.Duration(2*i)*time.Minute + time.Nanosecond), To: at.Add(time.Duration(2*i+1)*time.Minute + time.Nanosecond),
			})
		}
		at = at.Add(2 * time.Hour)
		s.Add(one, begin)
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Less(t, len(text), 2<<20/2, "of JSON")
	require.Len(t, s.Covered, 1000)
	require.True(t, s.Since.After(begin), "it is known from when the record is complete")
	t.Logf("%d bytes", len(text))
}

func TestWhatIsOlderThanHistoriesAreKeptIsForgotten(t *testing.T) {
	t.Parallel()
	s := presence.State{Since: begin}
	s.Add(span("a", 0, 1000, presence.Stopped), at(1000))
	now := begin.Add(61 * 24 * time.Hour)
	s.Add(presence.Span{Worker: presence.Worker{ID: "b"}, Segment: presence.Segment{From: now, To: now, End: presence.Lost}}, now)
	require.Len(t, s.Spans, 1)
	require.Equal(t, now.Add(-60*24*time.Hour), s.Since)
}
