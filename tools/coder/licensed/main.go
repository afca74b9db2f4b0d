// Coder's own program, made to accept licenses that a test can sign. It differs from the released one in the key
// that licenses are checked with, and in one more command, `mint`.
package main

import (
	"crypto/ed25519"
	"fmt"
	"os"
	_ "time/tzdata"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/coder/coder/v2/agent/agentexec"
	"github.com/coder/coder/v2/enterprise/cli"
	"github.com/coder/coder/v2/enterprise/coderd"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "agent-exec" {
		fmt.Fprintln(os.Stderr, agentexec.CLI())
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == "mint" {
		mintOrExit(os.Args[2:])
		return
	}
	coderd.Keys = map[string]ed25519.PublicKey{keyID: signingKey().Public().(ed25519.PublicKey)}
	tea.InitTerminal()
	var root cli.RootCmd
	root.RunWithSubcommands(root.EnterpriseSubcommands())
}
