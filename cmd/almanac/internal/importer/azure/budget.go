package azure

import "almanac/cmd/almanac/internal/importer/value"

// The budget of an import for what expressions evaluate. A template of 10,000 jobs takes half of it.
const (
	maxSteps = 1_000_000 // values and expressions
	maxMade  = 96 << 20  // bytes that functions take and make
	maxValue = 4 << 20   // bytes of a value, as it would be written
)

const tooMuch = "an expression beyond the budget of an import"

// exhausted reports whether the budget is used up, and says so once.
func (c *collector) exhausted() bool {
	if c.steps <= maxSteps && c.made <= maxMade {
		return false
	}
	if !c.over {
		c.over = true
		c.result.Problem(c.file.Name, 0, "its expressions are too many, or make too much: what follows is left out or needs "+
			"values. Import fewer files at a time, or what was deployed in place of the template")
	}
	return true
}

// bounded returns a value, or one that is needed in place of one that is too large: the members of a value may be the
// same many times, so that a short template makes more than any machine holds.
func bounded(v *value.Value) *value.Value {
	if v.Size() > maxValue {
		return value.Needed(v.Line, "an expression that makes too much")
	}
	return v
}
