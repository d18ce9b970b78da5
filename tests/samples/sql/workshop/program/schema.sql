-- A bicycle workshop: whose bicycle is in, who works on it, and what parts it took.
create table customers (
    id integer primary key autoincrement,
    name text not null,
    phone text not null unique
);
create table bikes (
    id integer primary key autoincrement,
    customer_id integer not null references customers (id),
    model text not null,
    frame_number text not null unique
);
create table mechanics (
    id integer primary key,
    name text not null,
    open_jobs integer not null default 0 check (open_jobs between 0 and 3)
);
create table jobs (
    id integer primary key autoincrement,
    bike_id integer not null references bikes (id),
    mechanic_id integer references mechanics (id),
    status text not null default 'waiting' check (status in ('waiting', 'in_work', 'done', 'collected')),
    complaint text not null,
    promised text not null,
    hours real not null default 0 check (hours >= 0),
    opened_at text not null default current_timestamp,
    touched_at text not null default current_timestamp
);
create table parts (
    id integer primary key,
    sku text not null unique,
    name text not null,
    stock integer not null check (stock >= 0),
    price real not null check (price > 0)
);
create table job_parts (
    job_id integer not null references jobs (id) on delete cascade,
    part_id integer not null references parts (id),
    quantity integer not null check (quantity > 0),
    primary key (job_id, part_id)
) without rowid;
create table orders (
    id integer primary key autoincrement,
    supplier text not null,
    status text not null default 'placed' check (status in ('placed', 'received', 'cancelled')),
    placed_at text not null default current_timestamp
);
create table order_lines (
    order_id integer not null references orders (id) on delete cascade,
    part_id integer not null references parts (id),
    quantity integer not null check (quantity > 0),
    primary key (order_id, part_id)
) without rowid;
create table movements (
    id integer primary key autoincrement,
    part_id integer not null references parts (id),
    change integer not null,
    reason text not null,
    at text not null default current_timestamp
);
create trigger stock_is_followed after update of stock on parts when new.stock <> old.stock
begin
    insert into movements (part_id, change, reason)
    values (new.id, new.stock - old.stock, case when new.stock < old.stock then 'taken' else 'put in' end);
end;
