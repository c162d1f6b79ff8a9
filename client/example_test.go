package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"almanac/api"
	"almanac/client"
	"almanac/internal/apitest"
)

// local returns a client of an API in this process. Yours is client.New("https://jobs.example.com", client.Options{Token: …}).
func local() *client.Client {
	c, err := client.New("http://localhost", client.Options{
		Transport: client.ServedBy(api.New(new(apitest.Memory), api.Options{})),
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// reports creates a job collection.
func reports(ctx context.Context, c *client.Client) {
	_, err := c.PutCollection(ctx, "reports", client.Collection{
		Properties: client.CollectionProperties{SKU: client.SKU{Name: "Standard"}},
	})
	if err != nil {
		log.Fatal(err)
	}
}

func Example() {
	ctx, c := context.Background(), local()
	reports(ctx, c)
	job, err := c.PutJob(ctx, "reports", "payroll", client.JobProperties{
		StartTime: "2026-01-01",
		Action:    client.Action{Type: "Https", Request: &client.Request{URI: "https://example.com/payroll", Method: "PUT"}},
		Recurrence: &client.Recurrence{
			Frequency: "month", TimeZone: "Europe/Stockholm",
			Schedule: &client.Schedule{
				Hours: []int{17}, Minutes: []int{15},
				MonthlyOccurrences: []client.MonthlyOccurrence{{Day: "friday", Occurrence: -1}},
			},
		},
	}, client.IfAbsent())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Name, job.Properties.State)
	// Output: reports/payroll enabled
}

func ExampleClient_Preview() {
	when, err := local().Preview(context.Background(), client.Preview{
		Now: "2026-01-01T00:00:00Z", Take: 2,
		Properties: &client.PreviewProperties{
			StartTime: "2026-01-01",
			Recurrence: &client.Recurrence{
				Frequency: "month", TimeZone: "Europe/Stockholm",
				Schedule: &client.Schedule{
					Hours: []int{17}, Minutes: []int{15},
					MonthlyOccurrences: []client.MonthlyOccurrence{{Day: "friday", Occurrence: -1}},
				},
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(when.Text)
	for _, at := range when.Occurrences {
		fmt.Println(at)
	}
	// Output:
	// the last Friday of every month at 17:15, from 2026-01-01, Europe/Stockholm
	// 2026-01-30 16:15:00 +0000 UTC
	// 2026-02-27 16:15:00 +0000 UTC
}

func ExampleClient_Jobs() {
	ctx, c := context.Background(), local()
	reports(ctx, c)
	for _, name := range []string{"nightly", "hourly"} {
		if _, err := c.PutJob(ctx, "reports", name, hourly); err != nil {
			log.Fatal(err)
		}
	}
	for job, err := range c.Jobs(ctx, "reports", client.List{Filter: "state eq enabled"}) {
		if unread, ok := errors.AsType[*client.UnreadError](err); ok {
			fmt.Println(unread)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.Name)
	}
	// Output:
	// reports/hourly
	// reports/nightly
}

// What was read is changed only if nobody else has changed it since.
func ExampleIfMatch() {
	ctx, c := context.Background(), local()
	reports(ctx, c)
	job, err := c.PutJob(ctx, "reports", "hourly", hourly)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.DisableJob(ctx, "reports", "hourly"); err != nil { // somebody else
		log.Fatal(err)
	}
	job.Properties.Action.Request.URI = "https://example.com/other"
	_, err = c.PutJob(ctx, "reports", "hourly", job.Properties, client.IfMatch(job.ETag))
	fmt.Println(client.IsChanged(err))
	// Output: true
}

func ExampleError() {
	ctx, c := context.Background(), local()
	reports(ctx, c)
	bad := hourly
	bad.Recurrence = &client.Recurrence{Frequency: "hour", Interval: 5000}
	_, err := c.PutJob(ctx, "reports", "hourly", bad)
	if e, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(e.Status == http.StatusBadRequest, e.Code, e.Field())
		fmt.Println(e.Details[0].Message)
	}
	// Output:
	// true BadRequest properties.recurrence.interval
	// properties.recurrence.interval: 5000 is out of range; allowed: 1 to 1000
}

// hourly calls a URL every hour.
var hourly = client.JobProperties{
	Action:     client.Action{Type: "Https", Request: &client.Request{URI: "https://example.com/hook"}},
	Recurrence: &client.Recurrence{Frequency: "hour"},
}
