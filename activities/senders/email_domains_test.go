package senders_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

func TestMailGoesOnlyToDomainsThatTheOperatorAllows(t *testing.T) {
	t.Parallel()
	domains, err := senders.ParseMailDomains([]string{"Example.com", "*.bücher.example"})
	require.NoError(t, err)
	for address, allowed := range map[string]bool{
		"a@example.com": true, "a@EXAMPLE.COM": true, "a@example.com.": true, "a@mail.bücher.example": true, "a@a.b.xn--bcher-kva.example": true,
		"a@bücher.example": false, "a@sub.example.com": false, "a@notexample.com": false, "a@example.com.evil.test": false,
		`"a@example.com"@evil.test`: false, "a@[127.0.0.1]": false, "a": false, "": false,
	} {
		err := domains.Check([]string{"b@example.com", address})
		require.Equal(t, allowed, err == nil, "%s: %v", address, err)
	}
	require.NoError(t, senders.MailDomains(nil).Check([]string{"a@anywhere.test"}))
	for _, bad := range []string{"", "@example.com", "a@example.com", "*", "ex ample.com", "*.*.example.com"} {
		_, err := senders.ParseMailDomains([]string{bad})
		require.ErrorContains(t, err, "is no domain", bad)
	}

	to := []string{"a@example.com", "b@evil.test"}
	s, err := senders.New(senders.Options{SMTP: senders.SMTP{Server: "127.0.0.1:1", From: "almanac@example.com", Domains: domains}})
	require.NoError(t, err)
	defer s.Close()
	require.ErrorContains(t, s.Check(kind.Mail, &kind.Email{To: to}), `"b@evil.test" is none`, "a job is refused when it is written")
	_, err = s.Notifications()[kind.Mail].Send(t.Context(), job.Execution{}, &notification.Post{Mail: notification.Mail{To: to}})
	_, permanent := errors.AsType[*activities.PermanentError](err)
	require.True(t, permanent, "and a message when it is sent, by a worker that allows less than its API: %v", err)
	require.ErrorContains(t, err, `"b@evil.test" is none`)
}
