module almanac/bench

go 1.26.8

replace almanac => ../

require (
	almanac v0.0.0
	github.com/robfig/cron/v3 v3.0.1
	github.com/teambition/rrule-go v1.8.2
)
