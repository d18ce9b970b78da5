"""Prefect's variables: those that EnvMill sets, those of a login, and those of the operator that
its server does not get.

the operator's PREFECT_SERVER_… ─► server (and the watchdog, which starts it again), but for WITHHELD
the operator's LOGIN            ─► a remote server
every other PREFECT_…           ─► nowhere: they belong to another Prefect that the operator works with
"""

from collections.abc import Mapping

PREFECT = {
    # Quiet: nothing leaves this machine.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_UI_API_URL": "/api",  # under whatever name the browser came by
    # V2 asks a vendor for remote config on each page; V1 is silent
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_CLI_PROMPT": "false",
    "PREFECT_CLI_COLORS": "false",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    # One record per message takes 0.1 s; when 10,000 wait the server drops them without a word.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "500",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",  # runs that ended 90 days ago, 200 MB per 10,000 tasks
    # Idle costs: each of these looks into the database. Late, paused and cancelled runs are only marked by them.
    "PREFECT_SERVER_SERVICES_LATE_RUNS_LOOP_SECONDS": "60",
    "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_LOOP_SECONDS": "60",
    "PREFECT_SERVER_SERVICES_CLEANUP_RECONCILER_LOOP_SECONDS": "60",
    "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_LOOP_SECONDS": "30",
    "PREFECT_SERVER_SERVICES_FOREMAN_LOOP_SECONDS": "30",
    "PREFECT_SERVER_SERVICES_SCHEDULER_RECENT_DEPLOYMENTS_LOOP_SECONDS": "10",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    "PREFECT_WORKER_QUERY_SECONDS": "1",  # the default of 10 is what a Retry click would wait for
    # The default of 10 s ahead is as long as a run waits for a place: a waiting run would ask again
    # each second.
    "PREFECT_WORKER_PREFETCH_SECONDS": "1",
    # A server that was killed still knows which run holds which place; else a run that asks to keep
    # its own would be ended.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    # the default of 30 is what the next run waits after a place is free
    "PREFECT_DEPLOYMENT_CONCURRENCY_SLOT_WAIT_SECONDS": "10",
    # two minutes: the watchdog needs one of them to bring a killed server back
    "PREFECT_CLIENT_MAX_RETRIES": "6",
    "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",  # the lake alone knows what is done
    "PREFECT__SERVER_FINAL": "1",
}


LOGIN = (
    "PREFECT_API_AUTH_STRING",
    "PREFECT_API_KEY",
    "PREFECT_CLIENT_CUSTOM_HEADERS",
    "PREFECT_API_SSL_CERT_FILE",
    "PREFECT_API_TLS_INSECURE_SKIP_VERIFY",
)
"""Prefect's own variables for the login and the certificate of another server. Only that server is
told of them."""

CHOSEN = "PREFECT_SERVER_API_AUTH_STRING"
"""Prefect's own variable for the secret of a server. Without it `envmill up` draws one."""

_DATABASE = (
    "ENVMILL_DATABASE names the database; this one is that of another server, whose tables it "
    "would change"
)
_ORIGIN = "the guard decides which origins may ask, and ENVMILL_ORIGINS names them"
_CSRF = (
    "worker, watchdog and command line bear no such token; the guard checks the origin of each "
    "change"
)
_OPEN = "a server that a client starts for itself has no guard"
_GROUP = "it is JSON of several settings, and those below may be among them"

WITHHELD = {
    "PREFECT_SERVER_API": _GROUP,
    "PREFECT_SERVER_DATABASE": _GROUP,
    "PREFECT_SERVER_EPHEMERAL": _GROUP,
    "PREFECT_SERVER_UI": _GROUP,
    CHOSEN: "the guard asks for it; Prefect's own check would refuse browsers, which show a cookie",
    "PREFECT_SERVER_API_BASE_PATH": "worker, watchdog and command line ask below /api",
    "PREFECT_SERVER_API_CORS_ALLOWED_HEADERS": _ORIGIN,
    "PREFECT_SERVER_API_CORS_ALLOWED_METHODS": _ORIGIN,
    "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": _ORIGIN,
    "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": _CSRF,
    "PREFECT_SERVER_CORS_ALLOWED_HEADERS": _ORIGIN,
    "PREFECT_SERVER_CORS_ALLOWED_METHODS": _ORIGIN,
    "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": _ORIGIN,
    "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": _CSRF,
    "PREFECT_SERVER_DATABASE_CONNECTION_URL": _DATABASE,
    "PREFECT_SERVER_DATABASE_DRIVER": _DATABASE,
    "PREFECT_SERVER_DATABASE_HOST": _DATABASE,
    "PREFECT_SERVER_DATABASE_NAME": _DATABASE,
    "PREFECT_SERVER_DATABASE_PASSWORD": _DATABASE,
    "PREFECT_SERVER_DATABASE_PORT": _DATABASE,
    "PREFECT_SERVER_DATABASE_USER": _DATABASE,
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": _OPEN,
    "PREFECT_SERVER_EPHEMERAL_ENABLED": _OPEN,
    "PREFECT_SERVER_UI_API_URL": "the page asks the server under the name by which the browser came; the guard refuses "
    "other origins",
    "PREFECT_SERVER_UI_SERVE_BASE": "a login leads to the page at /",
}
"""Settings of a server that would break or weaken the guard before it → why."""


def list_server_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What the operator chose for the server, but for what is withheld. Prefect reads names in any
    case."""
    named = {name.upper(): value for name, value in environ.items()}
    return {
        name: value
        for name, value in named.items()
        if name.startswith("PREFECT_SERVER_") and name not in WITHHELD
    }
