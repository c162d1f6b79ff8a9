package azure_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer"
)

// chained returns the variables of a template, of which each is made of the one before.
func chained(n int, first, next string) string {
	all := []string{`"v0":"` + first + `"`}
	for i := 1; i <= n; i++ {
		all = append(all, fmt.Sprintf(`"v%d":"%s"`, i, strings.ReplaceAll(next, "V", fmt.Sprintf("variables('v%d')", i-1))))
	}
	return `"variables":{` + strings.Join(all, ",") + `},`
}

// hostile are short sources that mean more than any machine holds, or many steps.
func hostile() map[string]string {
	job := func(body string) string {
		return `{"type":"Microsoft.Scheduler/jobCollections/jobs","name":"c/j","properties":{"action":{"type":"http","request":{"method":"POST","uri":"http://a.example","body":"` +
			body + `"}},"recurrence":{"frequency":"day"}}}`
	}
	arm := func(variables string, resources ...string) string {
		return `{"$schema":"https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",` +
			variables + `"resources":[` + strings.Join(resources, ",") + `]}`
	}
	copies := func(n int, resource string) string {
		return strings.Replace(resource, "{", fmt.Sprintf(`{"copy":{"name":"l","count":%d},`, n), 1)
	}
	nested := job("b")
	for range 7 {
		nested = `{"copy":{"name":"l","count":1000},"type":"Microsoft.Resources/deployments","name":"n","properties":{"template":{"resources":[` + nested + `]}}}`
	}
	wide := make([]string, 3000)
	for i := range wide {
		wide[i] = fmt.Sprintf("'m%d','x'", i)
	}
	local := func(n int, first, next, use string) string {
		all := "locals {\n v0 = " + first + "\n"
		for i := 1; i <= n; i++ {
			all += fmt.Sprintf(" v%d = %s\n", i, strings.ReplaceAll(next, "V", fmt.Sprintf("local.v%d", i-1)))
		}
		return all + "}\nresource \"azurerm_scheduler_job\" \"j\" {\n name = \"j\"\n job_collection_name = \"c\"\n action_web {\n url = \"http://a.example\"\n method = \"post\"\n body = " +
			strings.ReplaceAll(use, "V", fmt.Sprintf("local.v%d", n)) + "\n }\n}\n"
	}
	const thousands = `split(",", replace(format("%999s", ""), " ", "abcdefghi,"))`
	return map[string]string{
		"lists.json":   arm(chained(39, "[createArray('a','b')]", "[createArray(V,V)]"), job("[string(variables('v39'))]")),
		"objects.json": arm(chained(39, "[createObject('a','b')]", "[createObject('a',V,'b',V)]"), job("[length(variables('v39'))]")),
		"unions.json": arm(`"variables":{"w":"[createObject(`+strings.Join(wide, ",")+`)]"},`,
			copies(1000, job("[string(union(variables('w'),variables('w'),createObject('i',copyIndex())))]"))),
		"concat.json":  arm(chained(39, strings.Repeat("a", 1000), "[concat(V,V)]"), copies(1000, job("[toUpper(variables('v10'))]"))),
		"format.json":  arm(chained(9, strings.Repeat("a", 1000), "[concat(V,V)]"), job("[format('"+strings.Repeat("{0}", 5000)+"',variables('v9'))]")),
		"split.json":   arm(chained(10, strings.Repeat("a,", 400), "[concat(V,V)]"), copies(1000, job("[length(split(variables('v10'),','))]"))),
		"json.json":    arm(chained(9, strings.Repeat("[[", 1)+strings.Repeat("1,", 900), "[concat(V,V)]"), copies(1000, job("[string(length(json(concat('[',variables('v9'),'0]'))))]"))),
		"deep.json":    arm("", nested),
		"lookups.json": arm(`"variables":{`+strings.TrimSuffix(strings.Join(numbered(20000), ","), ",")+`},`, copies(1000, job("[concat("+strings.TrimSuffix(strings.Repeat("variables('k19999'),", 100), ",")+")]"))),

		"lists.tf":    local(39, `["a","b"]`, "[V, V]", "jsonencode(V)"),
		"texts.tf":    local(39, `"`+strings.Repeat("a", 1000)+`"`, `"${V}${V}"`, "V"),
		"repeated.tf": local(10, `"`+strings.Repeat("a", 1000)+`"`, `"${V}${V}"`, `upper("`+strings.Repeat("${V}", 5000)+`")`),
		"for.tf":      local(1, thousands, "V", `join("", [for x in V : join(",", V)])`),
		"distinct.tf": local(1, thousands, "V", `join("", [for x in V : join("", distinct(V))])`),
		"between.tf":  local(10, `"`+strings.Repeat("a", 1000)+`"`, `"${V}${V}"`, `replace(V, "", V)`),
		"trim.tf":     local(10, `"`+strings.Repeat("a", 1000)+`"`, `"${V}${V}"`, `trim(V, V)`),
		"join.tf":     local(10, `"`+strings.Repeat("a", 1000)+`"`, `"${V}${V}"`, `join(V, `+thousands+`)`),
		"number.tf":   local(0, "1e900000000", "V", `"${V}"`),
		"counted.tf":  strings.Replace(local(1, thousands, "V", `"x"`), "name = \"j\"", "count = 1000\n name = \"j${count.index}\"\n lots = local.v1\n more = local.v1\n further = local.v1", 1),
	}
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(`"k%d":"x"`, i))
	}
	return all
}

func TestHostileSourcesEndSoonAndAreReported(t *testing.T) { //nolint:paralleltest // it measures memory
	for _, name := range slices.Sorted(maps.Keys(hostile())) {
		text := hostile()[name]
		require.Less(t, len(text), 1<<20, name)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := read(map[string]string{name: text}, name)
		runtime.ReadMemStats(&after)
		check(t, r)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(1500), "MiB in all: %s", name)
		wanted := len(r.Problems)
		for _, j := range r.Jobs {
			if j.Verdict >= importer.Needs {
				wanted++
			}
		}
		require.Positive(t, wanted, "%s: what is left out is said", name)
	}
}

func TestALargeTemplateIsWithinTheBudget(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"$schema":"https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",` +
		`"parameters":{"prefix":{"type":"string","defaultValue":"c"}},"variables":{"base":"[concat('http://', parameters('prefix'), '.example')]"},"resources":[`)
	for i := range 5000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"Microsoft.Scheduler/jobCollections/jobs","name":"[concat(parameters('prefix'),'/job-%d')]","properties":{"startTime":"2027-01-01T00:00:00Z",
			"action":{"type":"http","request":{"method":"POST","uri":"[concat(variables('base'),'/', toLower('PATH'), '/%d')]","body":"[concat('{\"job\":', string(%d), '}')]",
			"headers":{"X-Name":"[format('{0}-{1}', parameters('prefix'), %d)]"}},"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"day","interval":"[int('1')]"},"state":"enabled"}}`, i, i, i, i)
	}
	b.WriteString("]}")
	r := read(map[string]string{"a.json": b.String()}, "a.json")
	require.NoError(t, r.Missing(), "%v", r.Problems)
	require.Equal(t, 5000, r.Count["same"], "%v", r.Count)
}
