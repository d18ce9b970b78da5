-- A small hotel: who stays where, what it costs, and what has to be cleaned.
create table room_types (
    code text primary key,
    name text not null,
    nightly_rate real not null check (nightly_rate > 0),
    capacity integer not null check (capacity > 0)
);
create table rooms (
    number text primary key,
    type_code text not null references room_types (code),
    floor integer not null,
    status text not null check (status in ('clean', 'dirty', 'out_of_order'))
);
create table guests (
    id integer primary key,
    name text not null,
    email text not null unique,
    tier text not null default 'basic' check (tier in ('basic', 'gold')),
    remark text not null default ''
);
create table bookings (
    id integer primary key,
    guest_id integer not null references guests (id),
    room_number text not null references rooms (number),
    arrives text not null,
    departs text not null check (departs > arrives),
    status text not null default 'booked' check (status in ('booked', 'in_house', 'departed', 'cancelled')),
    wishes text not null default '',
    booked_at text not null default (datetime('now'))
);
create table charges (
    id integer primary key,
    booking_id integer not null references bookings (id),
    label text not null,
    amount real not null check (amount > 0),
    charged_at text not null default (datetime('now'))
);
create table payments (
    id integer primary key,
    booking_id integer not null references bookings (id),
    amount real not null check (amount > 0),
    method text not null check (method in ('card', 'cash', 'transfer')),
    paid_at text not null default (datetime('now'))
);
create table chores (
    id integer primary key,
    room_number text not null references rooms (number),
    kind text not null,
    done integer not null default 0 check (done in (0, 1)),
    due text not null
);
create index bookings_by_room on bookings (room_number, status);
create trigger a_departure_leaves_work after update of status on bookings when new.status = 'departed'
begin
    update rooms set status = 'dirty' where number = new.room_number;
    insert into chores (room_number, kind, due) values (new.room_number, 'clean after departure', date('now'));
end;
