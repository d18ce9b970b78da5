"""τ²-bench's domain `mock`: tasks of users on the agent's side, notifications on the user's."""

from typing import Any, Literal

from envmill.runtime import Rejection, actors

SIDES = {"tasks": "agent", "users": "agent", "notifications": "user"}
HIDDEN = {
    "assistant": ["assert_number_of_tasks", "assert_task_status"],
    "user": ["add_notification", "assert_notification_status"],
}


class World:
    """State: tasks and users; notifications of the user who calls."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.tasks = state["tasks"]
        self.users = state["users"]
        self.notifications = state["notifications"]

    def _fill(self) -> None:
        """Fields that the data leave out."""
        for task in self.tasks.values():
            task.setdefault("description", None)
        for notification in self.notifications.values():
            notification.setdefault("status", "unread")
            notification.setdefault("task_id", None)

    def create_task(self, user_id: str, title: str, description: str | None = None) -> Any:
        """Create a new task for a user.

        Args:
            user_id: The ID of the user creating the task
            title: The title of the task
            description: Optional description of the task
        """
        if user_id not in self.users:
            raise Rejection("unknown", f"User {user_id} not found")
        key = f"task_{len(self.tasks) + 1}"
        task = {"task_id": key, "title": title, "description": description, "status": "pending"}
        self.tasks[key] = task
        self.users[user_id]["tasks"].append(key)
        return task

    def get_users(self) -> Any:
        """Get all users in the database."""
        return list(self.users.values())

    def update_task_status(self, task_id: str, status: Literal["pending", "completed"]) -> Any:
        """Update the status of a task.

        Args:
            task_id: The ID of the task to update
            status: The new status of the task
        """
        task = self._find(task_id)
        task["status"] = status
        return task

    def transfer_to_human_agents(self, summary: str) -> str:  # noqa: ARG002
        """Transfer the user to a human agent, with a summary of the user's issue.

        Args:
            summary: A summary of the user's issue.
        """
        return "Transfer successful"

    @actors("user")
    def check_notifications(self) -> Any:
        """Check all notifications in the user's inbox."""
        return list(self.notifications.values())

    @actors("user")
    def dismiss_notification(self, notification_id: str) -> str:
        """Dismiss (mark as read) a notification.

        Args:
            notification_id: The ID of the notification to dismiss.
        """
        self._find_notification(notification_id)["status"] = "read"
        return f"Notification {notification_id} dismissed"

    def _find(self, key: str) -> dict[str, Any]:
        if key not in self.tasks:
            raise Rejection("unknown", f"Task {key} not found")
        return self.tasks[key]

    def _find_notification(self, key: str) -> dict[str, Any]:
        if key not in self.notifications:
            raise Rejection("unknown", f"Notification {key} not found")
        return self.notifications[key]

    def _assert_number_of_tasks(self, user_id: str, expected_number: int) -> bool:
        if user_id not in self.users:
            raise Rejection("unknown", f"User {user_id} not found")
        return len(self.users[user_id]["tasks"]) == expected_number

    def _assert_task_status(self, task_id: str, expected_status: str) -> bool:
        return self._find(task_id)["status"] == expected_status

    def _add_notification(
        self, notification_id: str, message: str, task_id: str | None = None
    ) -> str:
        self.notifications[notification_id] = {
            "notification_id": notification_id,
            "message": message,
            "status": "unread",
            "task_id": task_id,
        }
        return notification_id

    def _assert_notification_status(self, notification_id: str, expected_status: str) -> bool:
        return self._find_notification(notification_id)["status"] == expected_status
