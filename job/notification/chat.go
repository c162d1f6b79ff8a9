package notification

import (
	"regexp"
	"strings"
)

type object = map[string]any

// slackMessage returns the body for an incoming webhook of Slack, and of services that take the same. The text has
// names and answers of others: nothing in it is markup, and nothing calls people.
func slackMessage(text string) any {
	// the three characters that Slack reads as markup
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	return object{"text": escape.Replace(calls.ReplaceAllString(text, "@\u200b$1")), "mrkdwn": false}
}

// calls matches what calls everybody in services like Slack, such as Mattermost. A space of no width keeps it from
// that.
var calls = regexp.MustCompile(`(?i)@(channel|all|here|everyone)`)

// teamsCard returns the message of a workflow of Microsoft Teams that posts an adaptive card. The text has names and
// answers of others: it is in runs of text, which have no Markdown as a TextBlock has.
func teamsCard(text string) any {
	var lines []object
	for line := range strings.Lines(text) {
		run := object{"type": "TextRun", "text": placeholders.Replace(strings.TrimRight(line, "\r\n"))}
		lines = append(lines, object{"type": "RichTextBlock", "inlines": []object{run}})
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content": object{
			"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": lines,
		},
	}}}
}

// placeholders keeps cards from computing dates, as in {{DATE(…)}}, and values, as in ${…}.
var placeholders = strings.NewReplacer("{{", "{\u200b{", "${", "$\u200b{")
