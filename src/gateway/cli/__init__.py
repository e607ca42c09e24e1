"""
The command line, `access-gateway …`. Modules are imported late, so that `--help` is fast.

    serving        `serve`, which a server runs without the modules below
    main           every command and its group on the help page
    commands/      one module per command or group: options in, one operation, output
    checkup/       the checks of `doctor`
    options        options that several commands share
    option_values  values that are a text, @FILE or standard input
    console        output, progress, and failures as sentences
    stores         the configured store, operations in its sessions, and the composition over it
    in_process     a gateway in this process
    remote         requests to a running gateway
    account_setup  accounts connected by consent, device code or secret
    server_setup   accounts on own servers, which are searched for by their address
    first_use      secrets, operator, resource and token of a new deployment
    loopback       the redirect URI of a consent
"""
