package listing

// A Group is a resource group that has job collections.
type Group struct {
	Subscription, Name string
	Collections        int // that may be shown
}
