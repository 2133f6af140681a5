"""What hosts and participants write: challenge.yml, moderation.yml and submission.yml."""
