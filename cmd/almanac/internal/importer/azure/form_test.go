package azure_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsNeededSaysWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	action := func(uri string) string {
		return `{"action":{"type":"http","request":{"method":"GET","uri":"` + uri + `"}},"recurrence":{"frequency":"day"}}`
	}
	const key = "listKeys('f','2018-11-01').key"
	for uri, want := range map[string]string{
		"[concat('https://shop.example/api/sync?code=', " + key + ")]": "the source has https://shop.example/api/sync?code={…}",
		"[concat(concat('https://', reference('s').host), '/sync')]":   "the source has https://{…}/sync",
		"[" + key + "]": "",
		"[concat('https://shop.example/?password=canary-of-form&code=', " + key + ")]": "",
		"[concat('https://shop.example/', parameters('hidden'), '/', " + key + ")]":    "",
	} {
		r := read(map[string]string{"a.json": template(action(uri), `"parameters":{"hidden":{"type":"securestring","defaultValue":"canary-of-form"}},`)}, "a.json")
		require.Len(t, r.Jobs, 1)
		text := ""
		for _, f := range r.Jobs[0].Findings {
			if f.Path == "action.request.uri" {
				text = f.Text
			}
		}
		require.NotEmpty(t, text)
		require.NotContains(t, text, "canary")
		if want == "" {
			require.NotContains(t, text, "the source has", uri)
		} else {
			require.Contains(t, text, want)
		}
	}
}
