"""What lies where in a Harbor folder.

task.toml · instruction.md · environment/{Dockerfile, …} · tests/{test.sh, …} · solution/solve.sh
"""

CONFIG, INSTRUCTION, README = "task.toml", "instruction.md", "README.md"
ENVIRONMENT, TESTS, SOLUTION, STEPS = "environment", "tests", "solution", "steps"
RECIPE = f"{ENVIRONMENT}/Dockerfile"
JUDGE = f"{TESTS}/Dockerfile"
"""Of the container in which tests run, where that is one of their own."""
COMPOSE = (f"{ENVIRONMENT}/docker-compose.yaml", f"{ENVIRONMENT}/docker-compose.yml")
TEST, SOLVE = f"{TESTS}/test.sh", f"{SOLUTION}/solve.sh"
TRAJECTORY = "trajectory.json"
RECORDS = "envmill.json"
"""The records that a folder of ours was written from; no agent, test or solution is shown it."""
LOGS = "/logs"
ARTIFACTS, REPORT = f"{LOGS}/artifacts", f"{LOGS}/verifier/report.json"
REWARD_TEXT, REWARD_JSON = f"{LOGS}/verifier/reward.txt", f"{LOGS}/verifier/reward.json"
VERSION = "1.4"
