/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The terminal of `adverb top`. It is a module (cli/command/module.h): ncurses draws and reads
 * keys. */
#ifndef ADV_CLI_TOP_TERMINAL_H
#define ADV_CLI_TOP_TERMINAL_H

#include <stdbool.h>

#include "cli/top/screen.h"

#define ADV_TERMINAL_MODULE "adverb-terminal.so"
#define ADV_TERMINAL_SYMBOL "adv_terminal"

/* Keys that are no characters. */
enum adv_key {
	ADV_KEY_NONE = 0, /* no key was pressed */
	ADV_KEY_UP = 256,
	ADV_KEY_DOWN,
	ADV_KEY_PAGE_UP,
	ADV_KEY_PAGE_DOWN,
	ADV_KEY_HOME,
	ADV_KEY_END,
	ADV_KEY_ENTER,
	ADV_KEY_BACK,	/* Escape, Left */
	ADV_KEY_ERASE,	/* Backspace */
	ADV_KEY_RESIZE, /* the terminal has another size */
	ADV_KEY_LOST,	/* the terminal has hung up */
};

struct adv_terminal {
	/* Takes over the terminal. False: standard output is none, or its type is not known. */
	bool (*open)(void);
	/* Gives the terminal back as it was. */
	void (*close)(void);
	void (*size)(unsigned *rows, unsigned *columns);
	void (*show)(const struct adv_screen *s);
	/* Waits for a key, at most so many ms. Returns a character, or enum adv_key. */
	int (*key)(int ms);
};

extern const struct adv_terminal adv_terminal;

#endif
