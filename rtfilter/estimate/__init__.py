"""What runtime filters would have gained an application that ran without them: `rtfilter estimate`."""
