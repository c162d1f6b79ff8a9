package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"almanac/internal/wfclient"
	"almanac/scheduler"
	"almanac/workflows"
)

// SearchAttributes adds the search attributes that the namespace lacks, and returns their names. It returns when
// Temporal lists workflows by all of them, or when ctx ends. If Temporal does not let this client add them, those that
// exist are enough, and the error about missing ones is a [RefusedError]. Optional ones may be among them, or be all.
func (o Options) SearchAttributes(ctx context.Context) (added []string, err error) {
	missing, err := o.missingAttributes(ctx)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	wanted := map[string]enums.IndexedValueType{}
	for _, name := range missing {
		wanted[name] = scheduler.SearchAttributes()[name]
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: o.Namespace, SearchAttributes: wanted}
	for {
		_, err = o.Client.OperatorService().AddSearchAttributes(ctx, request)
		if !IsNamespaceMissing(err) || wfclient.Sleep(ctx, pause) != nil {
			break
		}
	}
	switch {
	case refused(err):
		return nil, &RefusedError{
			Optional: !slices.ContainsFunc(missing, required), Missing: "search attributes are missing: " + strings.Join(missing, ", "),
			Attributes: missing, Commands: []string{o.addCommand(missing)}, Err: err,
		}
	case err != nil:
		return nil, fmt.Errorf("add search attributes to namespace %q: %w", o.Namespace, err)
	}
	for _, name := range missing {
		if err := o.awaitAttribute(ctx, name); err != nil {
			return nil, fmt.Errorf("wait until workflows can be listed by the search attribute %s: %w", name, err)
		}
	}
	return missing, nil
}

func required(attribute string) bool { return !scheduler.Optional(attribute) }

// missingAttributes returns the names of the search attributes that the namespace lacks, sorted.
func (o Options) missingAttributes(ctx context.Context) (missing []string, err error) {
	wanted := scheduler.SearchAttributes()
	if !o.NextRun {
		delete(wanted, workflows.AttributeNextRun)
	}
	known, err := o.Client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: o.Namespace})
	switch {
	case refused(err):
		return o.unlistable(ctx, slices.Sorted(maps.Keys(wanted)))
	case err != nil:
		return nil, fmt.Errorf("list the search attributes of namespace %q: %w", o.Namespace, err)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		switch found, exists := known.GetCustomAttributes()[name]; {
		case !exists:
			missing = append(missing, name)
		case found != wanted[name]:
			return nil, fmt.Errorf("the search attribute %s of namespace %q has type %s, and Almanac needs %s: have an operator of Temporal remove it, or choose another namespace",
				name, o.Namespace, found, wanted[name])
		}
	}
	return missing, nil
}

// unlistable returns those of the names by which Temporal does not list workflows.
func (o Options) unlistable(ctx context.Context, names []string) (missing []string, err error) {
	for _, name := range names {
		exists, err := o.listable(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("look for the search attribute %s: %w", name, err)
		}
		if !exists {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// awaitAttribute returns when Temporal lists workflows by a new search attribute.
func (o Options) awaitAttribute(ctx context.Context, name string) error {
	for {
		if exists, err := o.listable(ctx, name); err != nil || exists {
			return err
		}
		if err := wfclient.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// listable reports whether Temporal lists workflows by a search attribute. A client that may not list workflows
// gets true.
func (o Options) listable(ctx context.Context, name string) (bool, error) {
	value := "almanac setup"
	if scheduler.SearchAttributes()[name] == enums.INDEXED_VALUE_TYPE_DATETIME {
		value = time.Time{}.Format(time.RFC3339)
	}
	_, err := o.Client.WorkflowService().CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: o.Namespace, Query: fmt.Sprintf("%s = '%s'", name, value),
	})
	switch {
	case err == nil || refused(err):
		return true, nil
	case serviceerror.ToStatus(err).Code() == codes.InvalidArgument:
		return false, nil
	}
	return false, err
}

// addCommand returns the command that adds search attributes.
func (o Options) addCommand(names []string) string {
	command := []string{"temporal operator search-attribute create --namespace", quoted(o.Namespace)}
	for _, name := range names {
		command = append(command, "--name", name, "--type", scheduler.SearchAttributes()[name].String())
	}
	return strings.Join(command, " ")
}
