/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/top/terminal.h"

#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#define ESCAPE	     27
#define ESCAPE_MS    25 /* time in which the rest of a key's sequence arrives */
#define COLOR_PAIR_1 1

static SCREEN *curses;
static bool colours;

static bool open_terminal(void)
{
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return false;
	curses = newterm(NULL, stdout, stdin);
	if (!curses)
		return false;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	colours = has_colors() && start_color() == OK;
	if (colours) {
		use_default_colors();
		init_pair(COLOR_PAIR_1, COLOR_RED, -1);
	}
	return true;
}

static void close_terminal(void)
{
	endwin();
	delscreen(curses);
}

static void terminal_size(unsigned *rows, unsigned *columns)
{
	*rows = (unsigned)LINES;
	*columns = (unsigned)COLS;
}

static attr_t attribute_of(uint8_t a)
{
	switch (a) {
	case ADV_BOLD:
		return A_BOLD;
	case ADV_REVERSE:
		return A_REVERSE;
	case ADV_ALERT:
		return A_BOLD | (colours ? (attr_t)COLOR_PAIR(COLOR_PAIR_1) : 0);
	default:
		return A_NORMAL;
	}
}

static void show_screen(const struct adv_screen *s)
{
	erase();
	for (unsigned row = 0; row < s->rows; row++)
		for (unsigned column = 0; column < s->columns; column++)
			mvaddch((int)row, (int)column,
				(chtype)(unsigned char)s->text[row][column] |
					attribute_of(s->attribute[row][column]));
	refresh();
}

static int translate_key(int key)
{
	switch (key) {
	case KEY_UP:
		return ADV_KEY_UP;
	case KEY_DOWN:
		return ADV_KEY_DOWN;
	case KEY_PPAGE:
		return ADV_KEY_PAGE_UP;
	case KEY_NPAGE:
		return ADV_KEY_PAGE_DOWN;
	case KEY_HOME:
		return ADV_KEY_HOME;
	case KEY_END:
		return ADV_KEY_END;
	case KEY_RIGHT:
	case KEY_ENTER:
	case '\r':
	case '\n':
		return ADV_KEY_ENTER;
	case KEY_LEFT:
	case ESCAPE:
		return ADV_KEY_BACK;
	case KEY_BACKSPACE:
	case 127:
	case 8:
		return ADV_KEY_ERASE;
	case KEY_RESIZE:
		return ADV_KEY_RESIZE;
	default:
		return key >= ' ' && key <= '~' ? key : ADV_KEY_NONE;
	}
}

static int read_key(int ms)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	int c;

	timeout(ms);
	c = getch();
	if (c != ERR)
		return translate_key(c);
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) ? ADV_KEY_LOST
								       : ADV_KEY_NONE;
}

__attribute__((visibility("default"))) const struct adv_terminal adv_terminal = {
	open_terminal, close_terminal, terminal_size, show_screen, read_key};
