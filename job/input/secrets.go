package input

import (
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
)

// KeepSecrets returns d with the secrets that it leaves out, taken from old, which may be nil. A secret is
// kept if its identity and its target are the same (see [kind.Kept]); retarget lifts the condition on the target. The
// error is an [*job.Error] of KindInvalid: it names every needed secret that is left out and not kept, or says that the
// job is too large with its secrets.
func KeepSecrets(d job.Definition, old *job.Definition, retarget bool) (job.Definition, error) {
	if old == nil {
		old = &job.Definition{}
	}
	var bad fields.Errors
	d.Action = d.Action.Clone()
	d.Notifications = job.CloneNotifications(d.Notifications)
	keepSecrets(placesOf(&d.Action, "properties.action", &old.Action), retarget, &bad)
	keepSecrets(placesOfTargets(d.Notifications, old.Notifications), retarget, &bad)
	if len(bad.List) > 0 {
		return d, invalid("job", &bad)
	}
	return d, checkStored(&d)
}

// KeepCollectionSecrets returns c with the secrets of its notifications that it leaves out, taken from old, by the
// rules of [KeepSecrets], whose error it returns.
func KeepCollectionSecrets(c, old job.CollectionProperties, retarget bool) (job.CollectionProperties, error) {
	var bad fields.Errors
	c.Notifications = job.CloneNotifications(c.Notifications)
	keepSecrets(placesOfTargets(c.Notifications, old.Notifications), retarget, &bad)
	if len(bad.List) > 0 {
		return c, invalid("job collection", &bad)
	}
	return c, nil
}

// placesOfTargets returns the places of the targets of stored notifications.
func placesOfTargets(list, stored []job.Notification) (all []place) {
	for i := range list {
		old := storedNotification(stored, &list[i], i)
		path := fields.ItemPath("properties.notifications", i) + ".target"
		all = append(all, placeOfTarget(&list[i].Target, path, &old.Target))
	}
	return all
}

// keepSecrets fills in the secrets that some places leave out, and reports those that are missing.
func keepSecrets(places []place, retarget bool, bad *fields.Errors) {
	eachSecret(places, retarget, func(path string, s *kind.Secret) {
		if s.Absent() && s.Kept.May() {
			s.Keep()
		}
		if s.Absent() && s.Allowed != "" {
			bad.Add(s.Missing(path))
		}
	})
}
