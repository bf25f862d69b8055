package main

import "arbiter/server"

// outside is what the API offers besides the client API itself.
type outside struct{}

// furtherRoutes are the operations of o; of nil they are described and cannot be served.
func furtherRoutes(_ *outside) []server.Route { return nil }
