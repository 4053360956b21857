/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/signals.h"

#include <signal.h>
#include <stddef.h>

/* True for signals that report a fault of the thread itself: they do not arrive while it sleeps. */
static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
	       number == SIGTRAP || number == SIGSYS || number == SIGABRT;
}

bool adv_signals_may_interrupt(void)
{
	struct sigaction action;
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	for (int i = 1; i <= SIGRTMAX; i++)
		if (!is_fault(i) && !sigismember(&blocked, i) && sigaction(i, NULL, &action) == 0 &&
		    action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
		    !(action.sa_flags & SA_RESTART))
			return true;
	return false;
}
