"""What a question to the planner comes with beside the plan: settings, hints, times of the machine, what filters did before."""
